"""Processor time and function calls of a tool turn, early and late in a long prompt, on each wire.

    python -m tests.bench.bench_turns [TURNS] [WIRE ...]

Calls of Python functions are counted in a run of their own (`tests/bench/turn_calls.py`): they are the same on every machine. The loopback server reads the processor clock of the program (all threads, user and system) whenever a request arrives, so that
neither its own work nor that of other programs is counted. Run it where bytecode may be written (PYTHONDONTWRITEBYTECODE unset).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback

MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "google": "google/gemini-3.8-flash",
    "openai": "openai/gpt-5.5",
    "chat": "openai/qwen3",
}
TURNS = 200
STRETCHES = ((1, 40), (41, 200), (201, 300), (501, 600), (901, 1000))
"""Turns, first and last, over which a mean is printed."""


def main(arguments: Sequence[str]) -> None:
    """Print the processor time and the function calls of a turn in each stretch, for each wire."""
    turns = next((int(word) for word in arguments if word.isdigit()), TURNS)
    for wire in [word for word in arguments if word in MODELS] or ["anthropic", "google"]:
        seconds, loops, memory = measured(MODELS[wire], turns)
        calls, figures = calls_of(MODELS[wire], turns), []
        for first, last in STRETCHES:
            if last <= turns:
                turn, loop = (statistics.mean(each[first - 1 : last]) * 1000 for each in (seconds, loops))
                called = statistics.median(calls[first - 1 : last])
                figures.append(f"{first}-{last}: {turn:.1f} ms = {turn / loop:.1f} loops, {called:,.0f} calls")
        print(f"{wire:10} {'   '.join(figures)}   peak {memory / 1e6:.0f} MB", flush=True)


def measured(model: str, turns: int) -> tuple[list[float], list[float], int]:
    """Seconds of processor time between each request and the next, those of the fixed loop, and the peak of resident memory in bytes."""
    clock: list[float] = []
    loops: list[float] = []
    peak = [0]

    def asked(process: subprocess.Popen[str]) -> None:
        clock.append(spent(process.pid))
        loops.append(fixed_loop())
        peak[0] = max(peak[0], _peak(process.pid))

    with tempfile.TemporaryDirectory() as name:
        played(Program(Path(name)), model, turns, asked)
    assert len(clock) == turns + 1, f"{len(clock)} requests for {turns} turns"
    return [after - before for before, after in pairwise(clock)], loops, peak[0]


def calls_of(model: str, turns: int) -> list[int]:
    """The calls of Python functions between each request and the next."""
    with tempfile.TemporaryDirectory() as name:
        marks = Path(name) / "marks.json"
        command = ("-m", "tests.bench.turn_calls", str(marks))
        played(Program(Path(name), {"PYTHONPATH": str(ROOT)}, command), model, turns, lambda _: None)
        counts: list[int] = json.loads(marks.read_text())
    assert len(counts) == turns + 1, f"{len(counts)} requests for {turns} turns"
    return [after - before for before, after in pairwise(counts)]


def played(program: Program, model: str, turns: int, asked: Callable[[subprocess.Popen[str]], None]) -> None:
    """Run a prompt of so many turns with a read each; `asked` is called when a request arrives."""
    done = count()
    for n in range(40):
        (program.work / f"f{n}.txt").write_text("".join(f"{n} line {line}\n" for line in range(60)))

    def plan(_: Any) -> Any:
        asked(process)
        step = next(done)
        return say(f"Step {step}.", call("read", file_path=f"f{step % 40}.txt")) if step < turns else say("Done.")

    with Loopback(plan, strict=False) as server:
        program.more = {**program.more, **server.env}
        sinks: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        more = ("--set", "context.policy=sliding", "--max-turns", str(turns + 10))
        process = program.start("-p", "go", "-m", model, *more, **sinks)
        process.wait()


def fixed_loop() -> float:
    """Seconds of processor time of a loop that takes about a millisecond on an idle machine."""
    began = time.thread_time()
    words: dict[str, int] = {}
    for number in range(5_000):
        word = str(number)
        words[word] = words.get(word[:2], 0) + 1
    return time.thread_time() - began


def spent(pid: int) -> float:
    """Seconds of processor time that a process has used so far, of all its threads."""
    return time.clock_gettime((~pid << 3) | 2)


def _peak(pid: int) -> int:
    """The peak of a process's resident memory in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main(sys.argv[1:])

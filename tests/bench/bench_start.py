"""How light agentcli is: start-up, one-shot, tool turns, memory, prompt size and cache, as ratios taken in one run.

    python -m tests.bench.bench_start

Run it where bytecode may be written (PYTHONDONTWRITEBYTECODE unset); every figure is the median of several runs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.terminal import Terminal

RUNS = 7
TURNS = 40


def main() -> None:
    """Print every figure beside what it is measured against."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        nothing = median(lambda: wall([sys.executable, "-c", "pass"]))
        editor = median(lambda: wall([sys.executable, "-c", "import prompt_toolkit"]))
        sdk = median(lambda: wall([sys.executable, "-c", "import anthropic"]))
        say_line("python -c pass", f"{nothing * 1000:.0f} ms")
        version = median(lambda: wall([sys.executable, "-m", "agentcli", "--version"]))
        say_line("--version", ratio(version, nothing, "python -c pass"))
        painted, echoed, usable, ready = [
            statistics.median(times) for times in zip(*(start(base) for _ in range(RUNS)), strict=True)
        ]
        say_line("prompt painted", ratio(painted, nothing, "python -c pass"))
        say_line("first key echoed", ratio(echoed, nothing, "python -c pass"))
        say_line("full editor", ratio(usable, editor, "import prompt_toolkit"))
        say_line("session loaded", f"{ready * 1000:.0f} ms")
        one_shot(base, sdk)
        tool_turns(base)
        sizes()


def one_shot(base: Path, sdk: float) -> None:
    """`-p` against an endpoint of no latency."""
    with Loopback(lambda _: say("hello")) as server:
        program = Program(base, server.env)
        took = median(lambda: wall([*PROGRAM, "-p", "hi", "-m", CLAUDE], program))
    say_line("one-shot", ratio(took, sdk, "import anthropic"))


def tool_turns(base: Path) -> None:
    """Forty tool turns on one prompt: time a turn, peak memory, and what of the input came from the cache."""
    program = Program(base)
    for n in range(TURNS):
        (program.work / f"f{n}.txt").write_text("".join(f"{n} line {line}\n" for line in range(60)))

    def plan(asked: Any) -> Any:
        done = sum(1 for turn in asked.turns if turn["role"] == "assistant")
        return say(f"Step {done}.", call("read", file_path=f"f{done}.txt")) if done < TURNS else say("Done.")

    with Loopback(plan) as server:
        program.more = server.env
        quick = run(program, "-p", "go", "-m", CLAUDE, "--max-turns", "1")
        whole = run(program, "-p", "go", "-m", CLAUDE)
    usage = whole["result"]["usage"]
    prompt = usage["input"] + usage["cache_read"] + usage["cache_write"]
    say_line("a tool turn", f"{(whole['seconds'] - quick['seconds']) / TURNS * 1000:.1f} ms over {TURNS} turns")
    say_line("peak memory", f"{whole['peak'] / 1e6:.0f} MB")
    say_line("input read from the cache", f"{100 * usage['cache_read'] / prompt:.1f} % of {prompt:,} tokens")


def sizes() -> None:
    """What every request begins with."""
    from agentcli.resources import prompt
    from agentcli.tools.registry import tools

    schemas = [
        {"name": t.name, "description": t.schema.description, "input_schema": t.schema.parameters} for t in tools()
    ]
    text = len(prompt("system.md"))
    say_line("system prompt and tools", f"{text + sum(len(json.dumps(schema)) for schema in schemas):,} characters")


CLAUDE = "anthropic/claude-sonnet-5"
PROGRAM = (sys.executable, "-m", "agentcli")


def start(base: Path) -> tuple[float, float, float, float]:
    """Seconds until the prompt is painted, until a key is echoed, until the editor is whole, until the session is loaded."""
    program = Program(base, {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    command = list(PROGRAM)
    with Terminal(command, columns=80, rows=24, env=program.env, cwd=str(program.work)) as terminal:
        painted = terminal.bytes_until(b"> ")
        terminal.send("q")
        echoed = painted + terminal.bytes_until(b"q")
        # A new line is something that only the editor knows: the early prompt keeps the key for it.
        terminal.send("\nZ")
        usable = echoed + terminal.bytes_until(b"Z")
        ready = (
            time.monotonic() - terminal.started
            if "▕".encode() in terminal.raw
            else usable + terminal.bytes_until("▕".encode())
        )
    return painted, echoed, usable, ready


def run(program: Program, *arguments: str) -> dict[str, Any]:
    """One headless run: its result, seconds and peak memory in bytes."""
    began = time.perf_counter()
    process = program.start(*arguments, "-o", "json", stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    out = process.stdout.read()
    _, _, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    return {"result": json.loads(out), "seconds": seconds, "peak": used.ru_maxrss * 1024}


def wall(command: Sequence[str], program: Program | None = None) -> float:
    """Seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=program.env if program else None,
        cwd=program.work if program else None,
    )
    return time.perf_counter() - began


def median(measure: Callable[[], float]) -> float:
    """The median of several runs after one that warms up."""
    measure()
    return statistics.median(measure() for _ in range(RUNS))


def ratio(seconds: float, other: float, name: str) -> str:
    """A time beside what it is measured against."""
    return f"{seconds * 1000:.0f} ms = {seconds / other:.2f} x `{name}`"


def say_line(what: str, figure: str) -> None:
    """One row."""
    print(f"{what:28} {figure}", flush=True)


if __name__ == "__main__":
    main()

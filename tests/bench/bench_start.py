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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.frontends.cli.parser import whole_group
from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.terminal import Terminal

RUNS = 7
HELP_RUNS = 3
TURNS = 40


def main() -> None:
    """Print every figure beside what it is measured against."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        nothing = median(lambda: wall([sys.executable, "-c", "pass"]))
        editor = median(lambda: wall([sys.executable, "-c", "import prompt_toolkit"]))
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
        one_shots(base)
        helps(base)
        tool_turns(base)
        sizes()


def one_shots(base: Path) -> None:
    """`-p` against an endpoint of no latency, on each wire, beside the bare import of the vendor's SDK."""
    with Loopback(lambda _: say("hello")) as server:
        program = Program(base, server.env)
        commands: dict[str, Sequence[str]] = {}
        for sdk, model in ONE_SHOTS.items():
            commands[sdk] = (sys.executable, "-c", f"import {sdk}")
            commands[model] = (*PROGRAM, "-p", "hi", "-m", model)
        took = together(commands, program, RUNS)
    for sdk, model in ONE_SHOTS.items():
        name, (cpu, seconds), (its_cpu, its_seconds) = f"import {sdk}", took[model], took[sdk]
        say_line(f"one-shot, {model}", ratio(cpu, its_cpu, name) + " of processor time")
        say_line("", ratio(seconds, its_seconds, name) + " in all")


def helps(base: Path) -> None:
    """The help of every command, and a usage error of each, beside a Python that does nothing."""
    program = Program(base)
    paths = [path for path in command_paths(whole_group()) if path[:1] != ("run",)]
    commands: dict[str, Sequence[str]] = {"": (sys.executable, "-c", "pass")}
    for path in paths:
        for option in ("--help", "--no-such-option"):
            commands[" ".join((*path, option))] = (*PROGRAM, *path, option)
    took = {line: cpu for line, (cpu, _) in together(commands, program, HELP_RUNS).items()}
    nothing = took.pop("")
    slowest = sorted(took, key=took.__getitem__, reverse=True)[:3]
    middle = statistics.median(took.values())
    say_line(f"{len(took)} helps and usage errors", ratio(middle, nothing, "python -c pass") + ", the median")
    for line in slowest:
        say_line("  among the slowest", f"{took[line] / nothing:.1f} x: agentcli {line}")


def command_paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and of every group of them."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from command_paths(inner, (*path, name))


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
ONE_SHOTS = {"anthropic": CLAUDE, "google.genai": "google/gemini-3.8-flash", "openai": "openai/gpt-6.2-sol"}
"""A model of each wire by the module of its vendor's SDK."""
PROGRAM = (sys.executable, "-m", "agentcli")
FULL = b"k/"
"""Part of how full the window is, `2.9k/968k`, which only a loaded session knows."""


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
        ready = time.monotonic() - terminal.started if FULL in terminal.raw else usable + terminal.bytes_until(FULL)
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


def together(commands: Mapping[str, Sequence[str]], program: Program, runs: int) -> dict[str, tuple[float, float]]:
    """Medians of the processor time and of the time of commands in seconds, run in turns so that all meet the same load."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            began = time.perf_counter()
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command, env=program.env, cwd=program.work, **quiet)
            _, _, used = os.wait4(process.pid, 0)
            if number:  # the first run warms up
                taken[name].append((used.ru_utime + used.ru_stime, time.perf_counter() - began))
    return {
        name: (statistics.median(cpu for cpu, _ in pairs), statistics.median(whole for _, whole in pairs))
        for name, pairs in taken.items()
    }


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

"""Many sessions at once in one process, through the Python API: each gets its own text, files and records.

    python -m tests.attack.many_sessions [count]

Each session reads a file of its own folder, runs a command with a variable of its own environment, writes what both said to another
file, and reports it. The server runs in this process, the sessions in another one, whose peak of memory is printed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import agentcli
from agentcli.providers.scripted.model import Reply, call, say
from tests.loopback import Asked, Loopback

STEPS = 4
"""Requests of each session."""


def plan(delay: float = 0.0) -> Any:
    """Answers by what the conversation so far holds."""

    def answer(asked: Asked) -> Reply:
        text = json.dumps(asked.turns)
        [number] = set(re.findall(r"session-(\d+)!", text)) or {"none"}
        done = sum(turn["role"] == "assistant" for turn in asked.turns)
        facts = "+".join(sorted(set(re.findall(r"(?:secret|mark)-\d+", text))))
        match done:
            case 0:
                return say("", call("read", f"r{number}", file_path="secret.txt"), delay=delay)
            case 1:
                return say("", call("bash", f"b{number}", command='echo "mark-$MARK"'))
            case 2:
                return say("", call("write", f"w{number}", file_path="found.txt", content=facts))
            case _:
                return say(f"{number}: {facts}")

    return answer


def prepare(base: Path, number: int) -> Path:
    """The folder of a session, with its file."""
    folder = base / f"work-{number}"
    folder.mkdir(parents=True)
    (folder / "secret.txt").write_text(f"secret-{number}\n")
    return folder


async def one(base: Path, number: int, server: Mapping[str, str]) -> str:
    """One session; what is wrong with it."""
    folder = prepare(base, number)
    env = {"HOME": str(base), "PATH": os.environ["PATH"], "MARK": str(number), **server}
    given: Any = {"cwd": folder, "env": env, "model": "sonnet", "mode": "yolo"}
    events = [event async for event in agentcli.query(f"You are session-{number}!", **given)]
    result = events[-1]
    expected = "+".join(sorted((f"secret-{number}", f"mark-{number}")))
    if not isinstance(result, agentcli.Result) or result.text != f"{number}: {expected}":
        return f"session {number}: {result}"
    if (folder / "found.txt").read_text() != expected:
        return f"session {number}: wrong file"
    return "" if records_are_right(base, result.session_id, number) else f"session {number}: wrong records"


def records_are_right(base: Path, session: str, number: int) -> bool:
    """True if a stored session speaks of its own number alone."""
    [folder] = base.glob(f".local/share/agentcli/sessions/*/{session}")
    text = "".join(file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file())
    return set(re.findall(r"(?:secret|mark|session)-(\d+)", text)) == {str(number)}


async def many(base: Path, count: int, server: Mapping[str, str]) -> Sequence[str]:
    """So many sessions at once; what is wrong with them."""
    found = await asyncio.gather(*(one(base, number, server) for number in range(count)))
    return [wrong for wrong in found if wrong]


def main(count: int = 100, delay: float = 5.0) -> tuple[Sequence[str], float]:
    """Run them in a process of their own; what is wrong, and the peak of its memory in MB."""
    with Loopback(plan(delay), strict=False) as server, tempfile.TemporaryDirectory() as base:
        command = [
            sys.executable,
            "-m",
            "tests.attack.many_sessions",
            "client",
            base,
            str(count),
            json.dumps(server.env),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        answer = json.loads(done.stdout)
        print(f"{count} sessions, {len(server.requests)} requests, {len(answer['wrong'])} wrong, {answer['seconds']:.1f} s, "
              f"{answer['cpu']:.1f} s of CPU, peak {answer['peak']:.0f} MB, {answer['import']:.0f} MB after imports")  # fmt: skip
        assert len(server.requests) == count * STEPS
        return answer["wrong"], answer["peak"]


def client(base: str, count: str, env: str) -> None:
    """The process of the sessions."""
    imported = _peak()
    began = time.monotonic()
    wrong = asyncio.run(many(Path(base), int(count), json.loads(env)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {"seconds": time.monotonic() - began, "cpu": used.ru_utime + used.ru_stime, "peak": _peak()}
    print(json.dumps({"wrong": wrong, "import": imported, **figures}))


def _peak() -> float:
    """Return the most memory that this process has had, in MB."""
    if sys.platform == "linux":
        # Linux hands ru_maxrss down to a started program: it would be that of the test runner.
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(*sys.argv[2:])
    else:
        found, _ = main(int((sys.argv[1:] or ["100"])[0]))
        print("\n".join(found))
        sys.exit(bool(found))

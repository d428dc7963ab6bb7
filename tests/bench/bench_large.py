"""Commands on a very long session, and beside many: `python -m tests.bench.bench_large [RECORDS] [CHARACTERS] [SESSIONS]`.

It prints CPU seconds, user and system, of each, and their multiple of `python -c pass`. CHARACTERS is the most of each text.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import say
from agentcli.sessions.imported import Imported
from agentcli.sessions.info import stamp
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback
from tests.sessions.bodies import reply, result, user
from tests.sessions.imported import store_imported

PROMPTS = 50
"""Records of one turn."""
LONGEST = 4_000
"""Characters of the longest text."""
MODEL = "anthropic/claude-sonnet-5"


def main(records: int = 20_000, characters: int = LONGEST, sessions: int = 3_000) -> None:
    one_large(records, characters)
    many(sessions)


def one_large(records: int, characters: int) -> None:
    """Commands on one very long session."""
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder:
        program = Program(Path(folder))
        file = program.work / "session.jsonl"
        with file.open("w") as lines:
            lines.writelines(json.dumps(line) + "\n" for line in claude_code(records, characters))
        print(f"{records:,} records, {file.stat().st_size / 1e6:.0f} MB")
        say_cpu("import", program, "sessions", "import", str(file), "--name", "big")
        for command in (
            ("show",),
            ("export", "-f", "json"),
            ("export", "-f", "md"),
            ("export", "-f", "html"),
            ("export", "-f", "atif"),
        ):
            say_cpu(" ".join(command), program, "sessions", command[0], "big", *command[1:])
        say_cpu("context show", program, "context", "show", "big")
        with Loopback(lambda asked: say("Summary of what was done. " * 40)) as server:
            resumed = Program(program.base, server.env)
            for time in ("first resume", "second resume"):
                say_cpu(time, resumed, "resume", "big", "-p", "Go on.", "-m", MODEL)
        for name, rest in (("check", ()), ("fork", ()), ("rename", ("large",))):
            say_cpu(name, program, "sessions", name, "big", *rest)
        say_cpu("search", program, "sessions", "search", "words that stand nowhere")
        say_cpu("list", program, "sessions", "list")
        exported = str(program.work / "large.json")
        say_cpu(
            "export, all of it", program, "sessions", "export", "large", "-f", "json", "-o", exported, "--keep-secrets"
        )
        say_cpu("import of that", program, "sessions", "import", exported)


def many(sessions: int) -> None:
    """Commands in a project with many short sessions."""
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder, Loopback(lambda asked: say("Done.")) as server:
        program = Program(Path(folder), server.env)
        program.sessions.mkdir(parents=True)
        for _ in range(sessions):
            said = (user("Look at it."), reply("I look.", "call"), result("call", "line\n" * 20), reply("It is right."))
            made = Imported("agentcli", "", str(program.work), "", stamp(), tuple((stamp(), body) for body in said))
            store_imported(program.sessions, made, program.work)
        print(f"{sessions:,} sessions")
        say_cpu("list", program, "sessions", "list")
        say_cpu("search", program, "sessions", "search", "words that stand nowhere")
        for command in (("-c",), ()):
            say_cpu(f"{' '.join(command) or 'new session'}, -p", program, *command, "-p", "Go on.", "-m", MODEL)


def say_cpu(name: str, program: Program, *arguments: str) -> None:
    """Print a line with the CPU seconds of a command, and their multiple of an empty run beside it."""
    empty = statistics.median(cpu([sys.executable, "-c", "pass"], program) for _ in range(9))
    seconds = cpu([sys.executable, "-m", "agentcli", *arguments], program)
    print(f"{name:20} {seconds:6.2f} {seconds / empty:5.0f} ×", flush=True)


def cpu(command: list[str], program: Program) -> float:
    """CPU seconds of a command with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**program.env, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=program.work, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stderr.decode()[-500:]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def claude_code(records: int, characters: int = LONGEST) -> Iterator[dict[str, Any]]:
    """The lines of a session of Claude Code that reads and edits the files of this repository."""
    files = sorted((ROOT / "agentcli").rglob("*.py"))
    texts = [file.read_text()[:characters] for file in files]
    last = None
    for number in range(records):
        place, turn = number % PROMPTS, number // PROMPTS
        file = files[number // 2 % len(files)]
        head = {"uuid": f"u{number}", "parentUuid": last, "sessionId": "s", "cwd": "/repo", "version": "2.1.0"}
        head["timestamp"] = (
            f"2026-01-{1 + number // 3000:02}T{number // 125 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        )
        last = head["uuid"]
        if place == 0:
            yield {
                **head,
                "type": "user",
                "message": {"role": "user", "content": f"Turn {turn}: mend {file.name}, please."},
            }
        elif place % 2:
            use = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": str(file)}}
            if number % 7 == 0:
                change = {
                    "file_path": str(file),
                    "old_string": texts[number % len(texts)][:300],
                    "new_string": "x = 1\n" * 20,
                }
                use = {"type": "tool_use", "id": f"c{number}", "name": "Edit", "input": change}
            blocks = [{"type": "text", "text": f"I look at {file.name} ({number})."}]
            usage = {
                "input_tokens": 3,
                "output_tokens": 90,
                "cache_read_input_tokens": 50_000,
                "cache_creation_input_tokens": 900,
            }
            message = {
                "id": f"m{number}",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "usage": usage,
                "stop_reason": "end_turn",
            }
            more = [] if place == PROMPTS - 1 else [use]
            yield {**head, "type": "assistant", "message": {**message, "content": blocks + more}}
        else:
            block = {"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": texts[number // 2 % len(texts)]}
            yield {**head, "type": "user", "message": {"role": "user", "content": [block]}}


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main(*map(int, sys.argv[1:]))

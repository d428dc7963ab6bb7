"""The whole program, headless, while its provider fails: exit codes, no traceback, and no truncated call ever runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import call, say
from tests.loopback import Cut, Fail, Loopback, Refuse
from tests.loopback.plan import Answer
from tests.loopback.seals import bare
from tests.loopback.server import KEY
from tests.providers.hearing import BOTH
from tests.sampling import sampled
from tests.tables import each_row

WRITE = say("I shall write.", call("write", file_path="a", content="rm -rf everything\n" * 3), thinking="dangerous")
OK = say("all is well")
ASKS_LONG = Refuse(429, headers={"retry-after": "700"}, details=[{"retryDelay": "700s"}])
"""A wait beyond the patience of ten minutes."""
ASKS_SHORT = Refuse(429, headers={"retry-after": "0"}, details=[{"retryDelay": "0s"}])
TOO_LONG = "prompt is too long: 9 tokens > 5 maximum"
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
PAIRING = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"

FAULTS: dict[str, tuple[list[Answer], int, int]] = {
    "key refused": ([Refuse(401)] * 2, 41, 1),
    "out of money": ([Refuse(402)] * 2, 1, 1),
    "forbidden": ([Refuse(403)] * 2, 41, 1),
    "no such model": ([Refuse(404)] * 2, 1, 1),
    "bad request": ([Refuse(400, message="weird")] * 2, 1, 1),
    "body too large": ([Refuse(413)] * 3, 54, 1),
    "prompt too long": ([Refuse(400, message=TOO_LONG)] * 3, 54, 1),
    "a long wait": ([ASKS_LONG] * 2, 75, 1),
    "a short wait": ([ASKS_SHORT, OK], 0, 2),
    "five failures": ([Refuse(500)] * 9, 75, 5),
    "one failure": ([Refuse(500), OK], 0, 2),
    "cut by close": ([Cut(WRITE, 900), OK], 0, 2),
    "cut in a chunk": ([Cut(WRITE, 900, "chunk"), OK], 0, 2),
    "cut politely": ([Cut(WRITE, 900, "end"), OK], 0, 2),
    "error in mid-stream": ([Fail(WRITE, 1, "overloaded_error"), OK], 0, 2),
    "out of tokens": ([say("x", call("write", file_path="a", content="b"), stop="max_tokens"), OK], 0, 2),
    "refusal": ([say("no", stop="refusal")] * 2, 1, 1),
    "pause": ([say("wait", stop="pause"), OK], 0, 2),
    "empty": ([say(""), OK], 0, 2),
    "only thoughts": ([say("", thinking="hm"), OK], 0, 2),
    "always empty": ([say("")] * 9, 1, 4),
    "signature refused": ([Refuse(400, message=SIGNATURE), OK], 0, 2),
    "pairing refused": ([Refuse(400, message=PAIRING), OK], 0, 2),
    "not an API": ([Refuse(200, body=b"<html>log in</html>")] * 9, 1, 1),
}
SAMPLE = ("key refused", "cut by close", "one failure")


@pytest.mark.full
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("fault", sampled(SAMPLE, 2))
def test_the_program_meets_a_failing_provider(name: str, fault: str, tmp_path: Path) -> None:
    _run(name, fault, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
@each_row("fault", sorted(set(FAULTS) - set(SAMPLE)))
def test_the_program_meets_every_failing_provider(name: str, fault: str, tmp_path: Path) -> None:
    _run(name, fault, tmp_path)


def _run(name: str, fault: str, folder: Path) -> None:
    plan, code, requests = FAULTS[fault]
    with Loopback(plan) as server:
        done = _program(server, name, folder)
        seen = len(server.requests)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    assert seen == requests
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["type"], result["exit_code"]) == ("result", code)
    assert (result["status"] == "success") is (code == 0)
    if plan[-1] is OK:
        assert result["text"] == "all is well"
    assert not (folder / "a").exists()
    assert KEY not in done.stdout + done.stderr
    assert not any(KEY.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    _no_empty_message(folder)


@pytest.mark.full
@pytest.mark.parametrize("name", sampled(["opus", "claude-haiku-4-5", "flash", "gemini-2.5-flash"], 2))
def test_a_resumed_session_sends_the_same_start(name: str, tmp_path: Path) -> None:
    steps = [say(f"Step {n}.", call("glob", pattern=f"*{n}"), thinking=f"thought {n}") for n in range(3)]
    with Loopback([*steps, say("done", thinking="so"), *steps, say("done again")]) as server:
        assert _program(server, name, tmp_path).returncode == 0
        assert _program(server, name, tmp_path, "-c").returncode == 0
        assert [asked.refused for asked in server.asked] == [""] * 8
        turns = [bare(asked.turns) for asked in server.requests]
        for earlier, later in pairwise(turns):
            assert later[: len(earlier)] == earlier
        assert all(asked.json.get("system") == server.asked[0].json.get("system") for asked in server.asked)
        assert all(asked.json.get("tools") == server.asked[0].json.get("tools") for asked in server.asked)


def test_a_model_that_thinks_within_a_budget_is_asked_to_and_its_thoughts_go_back_after_a_resume(
    tmp_path: Path,
) -> None:
    first = [
        say("", call("glob", pattern="*0"), thinking="a thought before the loop"),
        say("", call("glob", pattern="*1")),
        say("", call("glob", pattern="*2"), thinking="a thought within it"),
        say("done"),
    ]
    with Loopback([*first, *first]) as server:
        assert _program(server, "claude-haiku-4-5", tmp_path).returncode == 0
        assert _program(server, "claude-haiku-4-5", tmp_path, "-c", "--set", "agent.effort=low").returncode == 0
        assert [asked.refused for asked in server.asked] == [""] * len(server.asked)
        bodies = [asked.json for asked in server.requests]
        assert [body["thinking"]["budget_tokens"] for body in bodies] == [8192] * 4 + [2048] * 4
        assert all(body["thinking"]["budget_tokens"] < body["max_tokens"] for body in bodies)
        assert {asked.headers["anthropic-beta"] for asked in server.requests} == {"interleaved-thinking-2025-05-14"}
        thoughts = [
            block["thinking"]
            for message in bodies[-1]["messages"]
            for block in message["content"]
            if block["type"] == "thinking"
        ]
        assert thoughts == ["a thought before the loop", "a thought within it"] * 2


@pytest.mark.full
def test_a_session_may_move_between_providers_and_back(tmp_path: Path) -> None:
    steps = [say(f"Step {n}.", call("glob", pattern=f"*{n}"), thinking=f"thought {n}") for n in range(2)]
    with Loopback([*steps, say("done", thinking="so")] * 4) as server:
        for name, more in (("opus", ()), ("flash", ("-c",)), ("opus", ("-c",)), ("sonnet", ("-c",))):
            done = _program(server, name, tmp_path, *more)
            assert done.returncode == 0, done.stdout
        assert [asked.refused for asked in server.asked] == [""] * 12
        assert [asked.wire for asked in server.requests] == ["anthropic"] * 3 + ["google"] * 3 + ["anthropic"] * 6
        assert b"thought 0" not in server.requests[3].body


def _program(server: Loopback, name: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        **server.env,
        **homes,
        "AGENTCLI_RETRY__FIRST": "0.01",
        "AGENTCLI_RETRY__ATTEMPTS": "5",
    }
    command = [sys.executable, "-m", "agentcli", "-p", "work", "-m", name, "--mode", "yolo", "-o", "stream-json", *more]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


def _no_empty_message(folder: Path) -> None:
    records = sorted(folder.rglob("records/*-message.json"))
    assert records
    for record in records:
        raw = json.loads(record.read_text())
        assert raw["parts"] or raw["role"] != "assistant", record.name

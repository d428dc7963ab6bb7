"""A background command whose lines wake the model: while nothing runs, and at the end of a run without a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.program import Program

SERVE = {
    "name": "bash",
    "input": {
        "command": "until [ -e go ]; do sleep 0.1; done; echo ready 1; until [ -e stop ]; do sleep 0.1; done; exit 3",
        "run_in_background": True,
    },
}
WATCH = {"name": "bash_output", "input": {"id": "job-1", "wake_on": "ready"}}


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, ...]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}", "--mode", "yolo")


def create(name: str) -> dict[str, Any]:
    return {"name": "bash", "input": {"command": f"touch {name}"}}


def told(program: Program) -> str:
    said = [record for record in program.records() if record.get("role") == "user"]
    return "\n".join(part["text"] for record in said for part in record["parts"] if part["synthetic"])


@pytest.mark.full
def test_an_idle_terminal_is_woken_by_a_line_and_by_the_end(program: Program) -> None:
    replies = [
        {"calls": [SERVE]},
        {"calls": [WATCH]},
        {"text": "Waiting."},
        {"text": "It is up."},
        {"text": "It is down."},
    ]
    with program.terminal(*script(program, *replies)) as t:
        t.until("? keys")
        t.send("serve\r", until="Waiting.")
        t.settle(1.5)
        assert "It is up." not in "\n".join(t.history())
        (program.work / "go").touch()
        t.until("Woken by job-1: ready 1", "It is up.")
        (program.work / "stop").touch()
        t.until("Woken by job-1, which has ended", "It is down.")
    assert "<output>\nready 1\n</output>" in told(program)
    assert "has ended: failed (exit code 3)" in told(program)


@pytest.mark.full
def test_a_run_without_a_terminal_waits_for_the_lines_that_it_asked_for(program: Program) -> None:
    replies = [
        {"calls": [SERVE]},
        {"calls": [WATCH]},
        {"calls": [create("go")]},
        {"text": "Waiting."},
        {"calls": [create("stop")]},
        {"text": "It is up."},
        {"text": "It is down."},
    ]
    ran = program.run("-p", "serve", *script(program, *replies))
    # The end of the command may come while the turn still works, or after it.
    assert (ran.code, ran.out) in [(0, "It is up.\n"), (0, "It is down.\n")]
    assert "<output>\nready 1\n</output>" in told(program)
    assert "has ended: failed (exit code 3)" in told(program)


def test_a_run_that_asked_for_none_does_not_wait(program: Program) -> None:
    ran = program.run("-p", "serve", *script(program, {"calls": [SERVE]}, {"text": "Started."}), seconds=30)
    assert (ran.code, ran.out) == (0, "Started.\n")

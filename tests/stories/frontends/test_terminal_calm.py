"""What the terminal says while a turn runs and once it has ended: short lines, and nothing that is meant for the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.faults import MODELS
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.terminal import Terminal


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "input": given}


def start(program: Program, *replies: dict[str, Any]) -> Terminal:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return program.terminal("-m", f"script:{file}", columns=100, rows=40)


def test_calls_of_a_turn_fold_into_one_line_and_the_failed_one_stays(program: Program) -> None:
    for name in ("a.py", "b.py"):
        (program.work / name).write_text("x = 1\n")
    calls = [call("read", file_path="a.py"), call("read", file_path="b.py"), call("bash", command="ls nothere")]
    with start(program, {"thinking": "Hm.", "calls": calls}, {"text": "That is all."}) as t:
        t.until("? keys")
        t.send("go\r", until="That is all.")
        t.until("1 failed (Ctrl-O)")
        shown = "\n".join(t.history())
    assert "● Read 2 files, ran 1 command · 1 failed (Ctrl-O)" in shown
    assert "✗ $ ls nothere · exit 2" in shown
    assert "∴ Thought (Ctrl-T)" in shown
    assert "a.py" not in shown


@pytest.mark.full
def test_a_question_is_prepared_and_esc_sends_the_message_that_waits(program: Program) -> None:
    options = [{"label": each, "description": "x " * 200} for each in ("SQLite", "Postgres")]
    asked = call("ask_user", questions=[{"question": "Which one?", "header": "", "options": options}])
    with start(program, {"calls": [asked], "rate": 400}, {"text": "slow " * 200, "rate": 50}, {"text": "Sent."}) as t:
        t.until("? keys")
        t.send("go\r", until="Preparing a question…")
        t.until("Which one?")
        t.settle(0.5)
        t.send("1", until="slow slow")
        t.send("more\t", until="After this turn: more")
        t.send("\x1b", until="Interrupted. Sending your message…")
        t.until("Sent.")
        assert "ask_user" not in "\n".join(t.history())


def test_a_window_that_is_nearly_empty_is_drawn_with_its_share(program: Program) -> None:
    with Loopback([say("Hello.")]) as server:
        program.more = server.env
        with program.terminal("--set", "agent.titles=false", "-m", MODELS["anthropic"], "hi", columns=100) as t:
            t.until("Hello.", " in, ")
            t.send("/context\r", until="usable (0.2%)")
            t.until("▏█")

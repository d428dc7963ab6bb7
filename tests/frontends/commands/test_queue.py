"""Messages typed while the program works: into the turn, for its end, and over a crash."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.terminal import Terminal

WAIT = {"name": "bash", "input": {"command": "echo begun; until [ -e go ]; do sleep 0.1; done; echo over"}}


def start(program: Program, *arguments: str, replies: list[Any]) -> Terminal:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return program.terminal(*arguments, "-m", f"script:{file}", "--mode", "yolo")


def shown_in_order(t: Terminal, *texts: str) -> bool:
    rows = "\n".join(t.history())
    places = [rows.rindex(text) for text in texts]
    return places == sorted(places)


@pytest.mark.full
def test_enter_steers_tab_queues_and_the_queue_is_edited(program: Program) -> None:
    replies = [{"calls": [WAIT]}, {"text": "Heard both."}, {"text": "And the last."}]
    with start(program, replies=replies) as t:
        t.until("? keys")
        t.send("wait\r", until="  begun")
        t.send("mind the door\r", until="After this step: mind the door")
        for text in ("then this", "then that"):
            t.send(f"{text}\t", until=f"After this turn: {text}")
        t.send("/queue\r", until="with the next result")
        t.send("then this\r", until="Move up")
        t.send("Delete\r")
        t.gone("After this turn: then this")
        t.until("Queue")
        t.send("\x1b", until="After this turn: then that · ↑ edit")
        (program.work / "go").touch()
        t.until("And the last.")
        t.settle()
        assert shown_in_order(t, "exit 0, 2 lines", "> mind the door", "Heard both.", "> then that", "And the last.")
    prompts = [record["parts"][0]["text"] for record in program.records() if record.get("role") == "user"]
    assert [text for text in prompts if text in ("mind the door", "then this", "then that")] == [
        "mind the door",
        "then that",
    ]


@pytest.mark.full
def test_the_queue_survives_a_kill(program: Program) -> None:
    with start(program, replies=[{"calls": [WAIT]}]) as t:
        t.until("? keys")
        t.send("wait\r", until="  begun")
        t.send("for now\r", until="After this step: for now")
        t.send("for later\t", until="After this turn: for later")
        t.settle()
        t.signal(signal.SIGKILL)
        t.wait()
    (program.work / "go").touch()
    with start(program, "-c", replies=[{"text": "One done."}, {"text": "Two done."}]) as t:
        t.until("Restored 2 queued messages", "After this turn: for later")
        t.settle()
        assert "done." not in "\n".join(t.history())
        t.send("\r", until="Two done.")
        assert shown_in_order(t, "> for now", "One done.", "> for later", "Two done.")


def test_the_keys_are_turned_round_by_a_setting(program: Program) -> None:
    program.config('[ui.keys]\nqueue = "enter"\n')
    with start(program, replies=[{"calls": [WAIT]}]) as t:
        t.until("? keys")
        t.send("wait\r", until="  begun")
        t.send("for later\r", until="After this turn: for later")
        t.send("for now\t", until="After this step: for now")

"""An editor on a session that is open in a terminal: over ACP it follows, answers, steers and stops, beside browsers and other terminals."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.frontends.serve.editor import Editor
from tests.frontends.serve.server import Serving


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def touch(name: str) -> dict[str, Any]:
    return {"name": "bash", "input": {"command": f"touch {name}"}, "id": f"call-{name}"}


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, ...]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}", "--mode", "ask")


def row(program: Program) -> dict[str, Any]:
    """The shared session; it is shared soon after its terminal has been painted."""
    for _ in range(60):
        for found in json.loads(program.run("ps", "--json").out):
            if found["shared"]:
                return dict(found)
        time.sleep(0.1)
    raise AssertionError("No session is shared.")


@pytest.mark.full
def test_an_editor_works_in_a_session_that_a_terminal_shares(program: Program) -> None:
    replies: list[dict[str, Any]] = [
        {"text": "Let me make it.", "calls": [touch("made")]},
        {"text": "All done."},
        {"text": "And more."},
    ]
    with program.terminal(*script(program, *replies)) as t:
        t.until("ask ·")
        t.send("/remote on\r", until="Shared.")
        t.send("make it\r", until="1. Yes")
        session = row(program)["session"]
        with Editor(program) as editor:
            editor.load(session)
            assert editor.text("user_message_chunk") == "make it"
            question = editor.question("touch made")
            labels = [option["name"] for option in question["params"]["options"]]
            assert labels[0] == "Yes"
            assert labels[-1] == "No, tell it what to do instead"
            editor.choose(question, "once")
            editor.said("All done.")
            t.until("Answered by the editor: Yes")
            assert (program.work / "made").exists()
            (end,) = [each for each in editor.updates("tool_call_update") if each.get("status") == "completed"]
            assert end["toolCallId"] == "call-made"
            asked = editor.prompt(session, "and more")
            assert editor.answer(asked)["result"]["stopReason"] == "end_turn"
            t.until("And more.")
            assert editor.text() == "Let me make it.All done.And more."
            assert editor.text("user_message_chunk") == "make it"  # it shows its own prompt by itself
        t.settle()
        t.send("still here\r", until="still here")


class Browser:
    """A reader of the server's events, as a page is one."""

    def __init__(self, server: Serving, session: str) -> None:
        self._server, self._session = server, session
        self._cursor = server.get(f"/api/sessions/{session}").json["cursor"]
        self.events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for _, event in self._server.events(self._session, self._cursor):
            with self._changed:
                self.events.append(event)
                self._changed.notify_all()
            if event["type"] == "message" and event["text"] == "End.":
                return

    def until(self, kind: str, text: str) -> dict[str, Any]:
        """The first event of a kind in which a text occurs."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.events if each["type"] == kind and text in json.dumps(each)]

        with self._changed:
            assert self._changed.wait_for(found, 30), self.events
            return found()[0]

    @property
    def lasting(self) -> list[Any]:
        """The events of records, in their order."""
        return [
            (each["seq"], each["type"], each.get("text") or each.get("id")) for each in self.events if "seq" in each
        ]


@pytest.mark.slow
def test_two_browsers_two_terminals_and_an_editor_answer_in_turn(program: Program) -> None:
    """Each sees all, once and in order; of two answers to one question the first counts, and the other side is told."""
    names = ["terminal", "browser", "attached", "editor"]
    replies: list[dict[str, Any]] = [{"text": f"For {name}.", "calls": [touch(name)]} for name in names] + [
        {"text": "End."}
    ]
    with (
        program.terminal(*script(program, *replies), "--set", "ui.remote=true") as t,
        Serving(program) as server,
    ):
        t.until("ask ·")
        server.log_in()
        session = row(program)["session"]
        one, two = Browser(server, session), Browser(server, session)
        with Editor(program, "--attach", session) as editor, program.terminal("attach", session) as a:
            a.until("Type a line")
            new = editor.answer(editor.ask("session/new", cwd=str(program.work), mcpServers=[]))
            assert new["result"]["sessionId"] == session
            asked = editor.prompt(session, "go")
            t.until("touch terminal")
            t.settle(0.7)
            t.send("1")
            late = editor.question("touch terminal")
            editor.said("Answered by the terminal: Yes.", "agent_thought_chunk")
            editor.choose(late, "no")
            editor.said("Already answered by the terminal: once.", "agent_thought_chunk")
            question = two.until("question", "touch browser")
            given = {"hash": question["hash"], "choice": "once"}
            assert server.post(f"/api/sessions/{session}/answer", given).json["ok"]
            a.until("touch attached")
            a.settle(0.7)
            a.send("1\r")
            editor.choose(editor.question("touch editor"), "once")
            assert editor.answer(asked)["result"]["stopReason"] == "end_turn"
            a.until("End.")
            t.until("End.")
            for browser in (one, two):
                browser.until("message", "End.")
            assert [name for name in names if not (program.work / name).exists()] == []
            expected = "".join(reply["text"] for reply in replies)
            assert editor.text() == expected
            printed = "\n".join(a.history())
            for reply in replies:
                assert printed.count(reply["text"]) == 1
        calls = [each["toolCallId"] for each in editor.updates("tool_call")]
        assert calls == [f"call-{name}" for name in names]
        done = [each["toolCallId"] for each in editor.updates("tool_call_update") if each["status"] == "completed"]
        assert done == calls
        seqs = [seq for seq, *_ in one.lasting]
        assert one.lasting == two.lasting
        assert seqs == sorted(seqs)
        assert len(set(one.lasting)) == len(one.lasting)
        assert [text for _, kind, text in one.lasting if kind == "message"] == ["go", *(r["text"] for r in replies)]


@pytest.mark.slow
def test_a_killed_editor_costs_the_session_nothing_and_another_one_finds_the_open_question(program: Program) -> None:
    replies: list[dict[str, Any]] = [{"text": "Let me make it.", "calls": [touch("made")]}, {"text": "All done."}]
    with program.terminal(*script(program, *replies), "--set", "ui.remote=true") as t:
        t.until("ask ·")
        session = row(program)["session"]
        with Editor(program) as first:
            first.load(session)
            first.prompt(session, "make it")
            first.question("touch made")
            first.process.kill()
        assert row(program)["state"] == "waits"
        with Editor(program) as second:
            second.load(session)
            second.choose(second.question("touch made"), "once")
            second.said("All done.")
            assert second.text("user_message_chunk") == "make it"
            assert second.text() == "Let me make it.All done."
        t.until("All done.")


@pytest.mark.slow
def test_a_killed_session_ends_the_prompt_and_is_followed_again_once_it_is_resumed(program: Program) -> None:
    first = script(program, {"text": "First."}, {"text": "Let me.", "calls": [touch("one")]})
    with Editor(program) as editor:
        with program.terminal(*first, "--set", "ui.remote=true", "hello") as t:
            t.until("First.")
            session = row(program)["session"]
            editor.load(session)
            asked = editor.prompt(session, "again")
            editor.question("touch one")
            os.kill(row(program)["pid"], signal.SIGKILL)
            answer = editor.answer(asked)
            assert "The program that shares this session has ended." in answer["error"]["message"]
            refused = editor.answer(editor.prompt(session, "anybody there?"))
            assert "error" in refused
        second = script(program, {"text": "Second.", "calls": [touch("two")]}, {"text": "Done."})
        with program.terminal("resume", session, *second, "--set", "ui.remote=true") as t:
            t.until("ask ·")
            t.send("typed here\r", until="1. Yes")
            asked = editor.prompt(session, "and this")
            editor.choose(editor.question("touch two"), "once")
            assert editor.answer(asked)["result"]["stopReason"] == "end_turn"
            t.until("Done.")
        assert editor.text("user_message_chunk") == "hello" + "typed here"
        assert editor.text().startswith("First.Let me.Second.Done.")
    assert not (program.work / "one").exists()
    assert (program.work / "two").exists()


@pytest.mark.slow
def test_cancel_stops_the_turn_and_settings_and_commands_belong_to_the_terminal(program: Program) -> None:
    with program.terminal(*script(program, {"text": "word " * 400, "rate": 20}), "--set", "ui.remote=true") as t:
        t.until("ask ·")
        session = row(program)["session"]
        with Editor(program) as editor:
            editor.load(session)
            asked = editor.prompt(session, "talk")
            editor.said("word word")
            editor.tell("session/cancel", sessionId=session)
            assert editor.answer(asked)["result"]["stopReason"] == "cancelled"
            mode = editor.answer(editor.ask("session/set_mode", sessionId=session, modeId="yolo"))
            assert "chosen in its own terminal" in mode["error"]["message"]
            command = editor.answer(editor.prompt(session, "/mode yolo"))
            assert "work only in the session's own terminal" in command["error"]["message"]
            t.settle()
            t.send("/remote off\r")
            editor.said("The program that shares this session has ended", "agent_thought_chunk")

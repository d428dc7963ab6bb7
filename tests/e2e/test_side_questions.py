"""Side questions as people ask them: at a terminal, beside a turn, and without a terminal; on the wire they share the session's prefix."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import Reply, say
from tests.e2e.program import Program
from tests.loopback import Asked, Loopback
from tests.loopback.seals import bare

WAIT = {"name": "bash", "input": {"command": "echo begun; until [ -e go ]; do sleep 0.1; done; echo over"}}
MODELS = {"anthropic": "anthropic/claude-sonnet-5", "google": "google/gemini-3.8-flash"}
TURNS = {"anthropic": "messages", "google": "contents"}


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, ...]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}", "--mode", "yolo")


def parts(asked: Asked) -> tuple[str, list[str]]:
    """The bytes of a request without its cache marks: all but its messages, and each message."""
    body = bare(asked.json)
    turns = body.pop(TURNS[asked.wire])
    return json.dumps(body), [json.dumps(turn) for turn in turns]


def answer(asked: Asked) -> Reply:
    """What the model says to the newest prompt."""
    newest = parts(asked)[1][-1]
    return say("Forty-two." if "what is it?" in newest else "Two." if "second" in newest else "One.")


@pytest.mark.full
@pytest.mark.parametrize("wire", ["anthropic", "google"])
def test_its_request_has_the_bytes_of_the_next_one_as_its_prefix_and_reads_them_from_the_cache(
    wire: str, tmp_path: Path
) -> None:
    with Loopback(answer) as server:
        program = Program(tmp_path, more=server.env)
        program.config("[agent]\ntitles = false\n")
        (program.work / "AGENTS.md").write_text(
            "Be kind to the next reader. " * 1_000
        )  # more than the least size that is cached
        with program.terminal("-m", MODELS[wire]) as t:
            t.until("? keys")
            t.send("first\r", until="One.")
            t.settle()
            t.send("/btw what is it?\r", until="╰ ")
            t.settle()
            t.send("second\r", until="Two.")
        first, aside, second = server.requests
    (head, turns), (next_head, next_turns) = parts(aside), parts(second)
    assert head == next_head == parts(first)[0]
    assert turns[:-1] == next_turns[: len(turns) - 1]
    assert len(turns) == len(next_turns) == 3
    assert "what is it?" in turns[-1]
    assert "what is it?" not in second.body.decode()
    assert "Forty-two" not in second.body.decode()
    [shown] = [row for row in t.history() if row.startswith("╰ $")]
    cached = re.search(r"([\d,]+) tokens in \(([\d,]+) from the cache\)", shown)
    assert cached is not None
    assert int(cached[2].replace(",", "")) > 0.8 * int(cached[1].replace(",", ""))


def test_a_session_without_one_sends_the_same_bytes(tmp_path: Path) -> None:
    """What a session sends before and after a side question is what it would have sent without."""
    sent = []
    for asked in ([], ["/btw what is it?"]):
        with Loopback(answer) as server:
            program = Program(tmp_path / str(len(asked)), more=server.env)
            program.base.mkdir()
            for prompt in ("first", *asked, "second"):
                assert (
                    program.run("-c" if prompt != "first" else "--plain", "-p", prompt, "-m", MODELS["anthropic"]).code
                    == 0
                )
            sent.append([parts(request) for request in server.requests if "what is it?" not in request.body.decode()])
    assert json.dumps(sent[0]).replace(str(tmp_path / "0"), "") == json.dumps(sent[1]).replace(str(tmp_path / "1"), "")


def test_at_a_terminal_the_answer_is_a_panel_with_its_cost(program: Program) -> None:
    with program.terminal(*script(program, {"text": "One."}, {"text": "It is **42**.\n\n- a"})) as t:
        t.until("? keys")
        t.send("first\r", until="One.")
        t.settle()
        t.send("/btw what is it?\r", until="╰ $0")
        rows = [row for row in t.history() if row.startswith(("╭", "│", "╰"))]
        assert rows[0] == "╭ Side question, not part of the session"
        assert rows[1] == "│ It is 42."
    kinds = [record["kind"] for record in program.records()]
    assert kinds.count("message") == 2
    assert kinds.count("feature") == 1
    assert "It is" not in json.dumps(program.records())
    assert "what is it" not in json.dumps(program.records())


def test_beside_a_turn_it_is_answered_at_once_and_the_turn_goes_on(program: Program) -> None:
    with program.terminal(*script(program, {"calls": [WAIT]}, {"text": "Forty-two."}, {"text": "All done."})) as t:
        t.until("? keys")
        t.send("work\r", until="  begun")
        t.send("/btw what is it?\r", until="│ Forty-two.")
        t.until("╰ $0")
        assert "All done." not in "\n".join(t.history())
        (program.work / "go").touch()
        t.until("All done.")
        t.settle(0.5)
        t.send("\x04")
        assert t.wait(20) == 0
    assert program.run("sessions", "check").code == 0
    said = [
        part["text"]
        for r in program.records()
        if r["kind"] == "message"
        for part in r["parts"]
        if part["type"] == "text"
    ]
    assert "work" in said
    assert "Forty-two." not in said
    assert "All done." in said


def test_esc_stops_the_answer_first_then_the_turn(program: Program) -> None:
    with program.terminal(
        *script(program, {"calls": [WAIT]}, {"text": "Forty-two.", "delay": 300}, {"text": "x"})
    ) as t:
        t.until("? keys")
        t.send("work\r", until="  begun")
        t.send("/btw what is it?\r", until="Esc stops it.")
        t.send("\x1b", until="│ Interrupted.")
        t.gone("Esc stops it.")
        assert "interrupted" not in "\n".join(t.screen())
        t.send("\x1b", until="interrupted")
        t.send("/btw what is it?\r", until="│ x")


def test_esc_stops_it_while_nothing_else_runs(program: Program) -> None:
    with program.terminal(*script(program, {"text": "Forty-two.", "delay": 300}, {"text": "One."})) as t:
        t.until("? keys")
        t.send("/btw what is it?\r", until="Answering the side question")
        t.send("\x1b", until="│ Interrupted.")
        t.send("first\r", until="One.")


def test_another_session_waits_for_the_end_of_the_question(program: Program) -> None:
    replies = script(program, {"calls": [WAIT]}, {"text": "Forty-two.", "delay": 300}, {"text": "Done."})
    with program.terminal(*replies) as t:
        t.until("? keys")
        t.send("work\r", until="  begun")
        t.send("/btw what is it?\r", until="Esc stops it.")
        (program.work / "go").touch()
        t.until("Done.")
        t.send("/new\r", until="│ Interrupted.")
        t.until("╰ the provider reported no charge", "── session ")
    assert program.run("sessions", "check").code == 0


def test_without_a_terminal_stdout_is_the_answer_and_the_cost_is_told(program: Program) -> None:
    first = program.run("-p", "hello", *script(program, {"text": "One."}))
    assert first.code == 0
    asked = script(program, {"text": "Forty-two."})
    ran = program.run("-c", "-p", "/btw what is it?", *asked)
    assert (ran.code, ran.out) == (0, "Forty-two.\n")
    assert "Side question: $0, " in ran.err
    told = program.ask("-c", "-p", "/btw what is it?", *asked)
    assert (told.result["text"], told.result["subtype"]) == ("Forty-two.", "done")
    assert [line["kind"] for line in told.of("usage")] == ["aside"]
    assert told.result["usage"]["input"] >= 0
    assert not told.of("message")


def test_a_provider_that_fails_gives_its_exit_code(program: Program) -> None:
    failing = {"text": "x", "fault": {"cause": "auth", "message": "no such key", "after": 0}}
    ran = program.run("-p", "/btw what is it?", *script(program, failing))
    assert (ran.code, ran.out) == (41, "")
    assert "no such key" in ran.err

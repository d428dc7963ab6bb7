"""Recognise the program that wrote a session file, by the file's content."""

from __future__ import annotations

import json
from pathlib import Path

from agentcli.core.message import Message, Text, Thinking, Usage
from agentcli.core.record import Failure
from agentcli.extras.importers.sessions import read, recognise
from agentcli.extras.importers.sessions.recognise import lines
from tests.extras.importers.sessions.test_opencode import SAMPLE, of
from tests.extras.importers.test_sessions import SAMPLES
from tests.tables import each_row


@each_row(
    ("name", "expected"),
    [
        ("claude-code.jsonl", "claude-code"),
        ("gemini-cli.json", "gemini-cli"),
        ("gemini-cli.jsonl", "gemini-cli"),
        ("codex.jsonl", "codex"),
        ("codex-early.jsonl", "codex"),
        ("claude-code-2.1.197.jsonl", "claude-code"),
        ("codex-0.169.0.jsonl", "codex"),
        ("pi-0.74.2.jsonl", "pi"),
        ("opencode-1.18.33.json", "opencode"),
    ],
)
def test_a_file_is_recognised_by_what_stands_in_it(name: str, expected: str, tmp_path: Path):
    anonymous = tmp_path / "session"
    anonymous.write_bytes((SAMPLES / name).read_bytes())
    assert recognise(anonymous) == expected


def test_lines_are_those_of_the_whole_text(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufefföne\r\n\n\u2028two\x0b\x85\n\n".encode() + b"\xff\nlast")
    assert [*lines(path)] == ["öne\r", "", "\u2028two\x0b\x85", "", "\0", "last"]


def test_an_object_over_many_lines_is_recognised_where_no_line_of_it_is_an_object(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    session = {"notes": ["x"] * 100, "sessionId": "s", "startTime": "2026-01-01T00:00:00Z", "messages": []}
    path.write_text(json.dumps(session, indent=1))
    assert recognise(path) == "gemini-cli"


def test_talk_thoughts_usage_and_cost_are_taken_over():
    session = read(SAMPLE)
    assert recognise(SAMPLE) == session.format == "opencode"
    assert (session.title, session.cwd) == ("Rounding of totals", "/home/dev/shop")
    assert (session.model, session.time) == ("anthropic/claude-sonnet-4-5", "2026-11-22T06:58:09.703Z")
    first = of(session, Message)[1]
    assert first.parts[:2] == (Thinking("Both files matter."), Text("I look at both files."))
    assert (first.usage, first.cost, first.stop) == (Usage(500, 80, 0, 100), 0.00273, "tool_use")
    assert [failure.message for failure in of(session, Failure)] == ["bad thing"]
    assert not session.notes

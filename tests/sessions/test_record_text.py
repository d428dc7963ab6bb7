"""Records as lines of text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from agentcli.core.message import File, Image, Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, Pin, Record
from agentcli.core.sanitise import is_safe, safe
from agentcli.sessions.record_text import as_text


def record(body: Body) -> Record:
    return Record(7, "id", "", "", body)


LETTERS = st.sampled_from([*"ab \t\n\n\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "é", "→", "\x1b"])


@given(st.text(LETTERS, max_size=12))
@example("")
@example("\n")
@example("a\n\n")
@example("a\r\nb\r\n")
def test_each_line_of_an_output_is_set_in_whatever_ends_it(output: str) -> None:
    head, *lines, last = as_text(record(ToolResult("c", "bash", "success", output))).split("\n")
    assert (head, last) == ("#7 bash success", "")
    assert lines == [f"    {safe(line)}" for line in output.splitlines()] if output else lines == [""]


@given(st.text(LETTERS, max_size=6), st.text(LETTERS, max_size=6))
def test_no_record_gets_a_control_through(name: str, text: str) -> None:
    for body in (
        Message("user", (Text(text), ToolCall(name, name, {}))),
        ToolResult("c", name, "success", text),
        Compaction("auto", "noop", name),
    ):
        lines = as_text(record(body))
        assert is_safe(lines)
        assert lines.endswith("\n")


def test_a_call_is_shown_as_json_and_an_attachment_with_its_path() -> None:
    called = Message("assistant", (ToolCall("c1", "bash", {"command": "ls", "run_in_background": True}),))
    assert '→ bash {"command": "ls", "run_in_background": true} (c1)' in as_text(record(called))
    attached = Message("user", (File("text/plain", "/w/a.py", "x"), Image("image/png", "", "/w/b.png"), Text("look")))
    assert as_text(record(attached)).splitlines()[1:3] == ["  [file /w/a.py]", "  [image /w/b.png]"]


def test_a_record_without_anything_to_read_has_no_lines() -> None:
    assert not as_text(record(Pin(1)))

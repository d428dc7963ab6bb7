"""What a reply quotes must have stood before it."""

from __future__ import annotations

from agentcli.context.view import view
from agentcli.core.history import fold
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Prune, Record
from agentcli.lab.replay import missed

READ = Message("assistant", (ToolCall("c1", "read", {"file_path": "a.py"}),), 1)
OUTPUT = ToolResult("c1", "read", "success", "     1\tfirst_line = 1\n     2\tsecond_line = load(2)\n")
CLEARED = Prune(("c1",), 10, "")


def wanted(old: str, *bodies: Body, tool: str = "edit") -> list[str]:
    records = [Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)]
    piece = {"old_string": old, "new_string": "x"}
    given = {"file_path": "a.py", **({"edits": [piece]} if tool == "multi_edit" else piece)}
    reply = Message("assistant", (ToolCall("c9", tool, given),), 1)
    return [output.call_id for output in missed(reply, view(fold(records)), records)]


def test_nothing_is_missed_while_the_output_stands():
    assert wanted("second_line = load(2)", READ, OUTPUT) == []


def test_a_cleared_output_that_is_quoted_is_missed():
    assert wanted("second_line = load(2)", READ, OUTPUT, CLEARED) == ["c1"]
    assert wanted("x\nsecond_line = load(2)\ny", READ, OUTPUT, CLEARED, tool="multi_edit") == ["c1"]


def test_what_somebody_said_since_need_not_be_fetched():
    said = Message("user", (Text("change second_line = load(2) please"),), 2)
    assert wanted("second_line = load(2)", READ, OUTPUT, CLEARED, said) == []


def test_what_never_stood_in_an_output_or_is_too_short_tells_nothing():
    assert wanted("never_seen_before = 1", READ, OUTPUT, CLEARED) == []
    assert wanted("load(2)", READ, OUTPUT, CLEARED) == []

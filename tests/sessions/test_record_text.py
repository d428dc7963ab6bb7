"""Records as lines of text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcli.core.message import ToolResult
from agentcli.core.record import Record
from agentcli.sessions.record_text import as_text

LETTERS = st.sampled_from([*"ab \t\n\n\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "é", "→", "\x1b"])


@given(st.text(LETTERS, max_size=12))
@example("")
@example("\n")
@example("a\n\n")
@example("a\r\nb\r\n")
def test_each_line_of_an_output_is_set_in_whatever_ends_it(output: str) -> None:
    head, *lines = as_text(Record(7, "id", "", "", ToolResult("c", "bash", "success", output))).split("\n")
    assert head == "#7 bash success"
    assert lines == [f"    {line}" for line in output.splitlines()] if output else lines == [""]


@pytest.mark.parametrize("output", ["one", "one\n"])
def test_an_output_of_one_line_is_one_line(output: str) -> None:
    assert as_text(Record(7, "id", "", "", ToolResult("c", "bash", "success", output))) == "#7 bash success\n    one"

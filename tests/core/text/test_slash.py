"""Slash commands in prompts, read as name and argument."""

from __future__ import annotations

from agentcli.core.text.slash import name_and_argument
from tests.tables import each_row


@each_row(
    ("line", "parts"),
    [
        ("/model sonnet", ("model", "sonnet")),
        (" /rewind   3 turns  ", ("rewind", "3 turns")),
        ("/help", ("help", "")),
        ("/", ("", "")),
        ("", ("", "")),
        ("help me", ("help", "me")),
    ],
)
def test_a_line_is_a_name_and_an_argument(line: str, parts: tuple[str, str]) -> None:
    assert name_and_argument(line) == parts

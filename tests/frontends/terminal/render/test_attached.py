"""Attachments of a prompt, each with its readable size."""

from __future__ import annotations

from agentcli.core.message import GOES_ON, File, Message, Text
from agentcli.frontends.terminal.render.attached import attached


def test_a_file_that_is_sent_in_part_says_so() -> None:
    message = Message("user", (File("text/plain", "a", "x" * 100 + GOES_ON), Text("look")))
    assert [each.size for each in attached(message)] == ["the first 100 characters"]

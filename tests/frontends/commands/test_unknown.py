"""Slash commands that do not exist: what can only be meant as one, and what is text."""

from __future__ import annotations

from agentcli.frontends.commands.unknown import meant_as_command, no_command, unknown_command
from tests.tables import each_row


@each_row(
    ("text", "name"),
    [
        ("/compact", "compact"),
        ("/compact \n", "compact"),
        ("/tools:review the diff", "tools:review"),
        ("/a:b:c", "a:b:c"),
        ("/usr", ""),
        ("/usr/bin", ""),
        ("/etc is full", ""),
        ("/login answers 500", ""),
        ("see /compact", ""),
        ("/Compact", ""),
        ("", ""),
    ],
)
def test_a_prompt_can_only_mean_a_command_or_is_text(text: str, name: str) -> None:
    assert meant_as_command(text) == name


def test_only_a_command_that_nobody_knows_is_unknown() -> None:
    def unknown(text: str) -> str:
        return unknown_command(text, {"help", "tools:review"}.__contains__, {"github"}.__contains__)

    assert unknown("/helpp") == "helpp"
    assert unknown("/help") == unknown("/tools:review it") == unknown("please help") == ""
    assert unknown("/tools:revue it") == "tools:revue"
    assert unknown("/github:issue 3") == "", "the server's prompts are not known yet"
    assert unknown("/github") == "github"


def test_the_refusal_says_why_a_command_may_be_missing_and_how_to_send_text() -> None:
    assert str(no_command("revue", True, ["cost"])) == (
        "Unknown command /revue. Put a space before it to send it as text."
    )
    assert "not trusted" in str(no_command("revue", False, []))
    assert "Unknown command /reviw. Did you mean /review? Put" in str(no_command("reviw", True, ["review"]))

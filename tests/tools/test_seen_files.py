"""Files that the model has seen are known again when a session is resumed, and those that the user attached from the start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.core.event import Event
from agentcli.frontends.terminal.input.attachments import FILE_BYTES, with_attachments
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.open_session import open_session, results, say_to

MADE = call("write", file_path="a.txt", content="made\n")


def last_output(folder: Path, journal: Any, prompt: Prompt, made: Any = MADE) -> str:
    """The output of the one call that a session makes."""
    session = open_session(folder, [say("", made), say("Done.")], journal=journal, mode="yolo")

    async def collect() -> list[Event]:
        return [event async for event in session.turn(prompt, asyncio.Event())]

    asyncio.run(collect())
    return results(session)[-1].output


@pytest.mark.parametrize(
    "seen",
    [
        call("read", file_path="a.txt"),
        call("edit", file_path="a.txt", old_string="", new_string="two\n"),
        call("bash", command="cat a.txt"),
    ],
)
def test_a_resumed_session_knows_what_it_has_seen(tmp_path: Path, seen: Any) -> None:
    if seen.name != "edit":
        (tmp_path / "a.txt").write_text("one\n")
    journal = MemorySession()
    say_to(open_session(tmp_path, [say("", seen), say("Seen.")], journal=journal, mode="yolo"), "look")
    assert last_output(tmp_path, journal, Prompt("go")) == "Replaced a.txt (1 line)."


def test_a_resumed_session_knows_that_a_file_has_changed_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    journal = MemorySession()
    first = open_session(tmp_path, [say("", call("read", file_path="a.txt")), say("Seen.")], journal=journal)
    say_to(first, "look")
    (tmp_path / "a.txt").write_text("two\n")
    assert "has changed since you read it" in last_output(tmp_path, journal, Prompt("go"))


def test_an_attached_file_counts_as_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    assert last_output(tmp_path, None, with_attachments("see @a.txt", tmp_path)) == "Replaced a.txt (1 line)."


def test_a_file_that_was_attached_in_part_does_not_count_as_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * FILE_BYTES + "\n")
    assert "has not been read yet" in last_output(tmp_path, None, with_attachments("see @a.txt", tmp_path))


def test_outside_of_plan_mode_there_is_no_plan_to_approve(tmp_path: Path) -> None:
    output = last_output(tmp_path, None, Prompt("go"), call("exit_plan", plan="Do it."))
    assert output == "You are not in plan mode; go on."

"""What the agent and its commands changed can be taken back, and made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.core.message import Message
from agentcli.providers.scripted import call, say
from agentcli.sessions.changes import Changes
from agentcli.sessions.store import Store
from tests.agent.desks import open_desk, say_to


def desk_on_disk(tmp_path: Path, script: object):  # type: ignore[no-untyped-def]
    work = tmp_path / "work"
    work.mkdir()
    store = Store(tmp_path / "sessions")
    journal = store.create(work)
    kept = store.checkpoints(journal, [work])
    return work, open_desk(
        work,
        script,  # type: ignore[arg-type]
        mode="yolo",
        journal=journal,
        changes=lambda _: lambda append: Changes(journal, kept, append),
    )


def test_an_edit_and_a_command_are_undone_and_redone(tmp_path: Path) -> None:
    work, desk = desk_on_disk(
        tmp_path,
        [
            say("", call("write", file_path="a.txt", content="one\n")),
            say("", call("bash", command="echo two > a.txt; echo new > b.txt")),
            say("Done."),
        ],
    )
    (work / "mine.txt").write_text("the user's\n")
    say_to(desk, "go")
    assert (work / "b.txt").exists()
    desk.undo()
    assert (work / "a.txt").read_text() == "one\n"
    assert not (work / "b.txt").exists()
    assert (work / "mine.txt").read_text() == "the user's\n"
    desk.undo()
    assert not (work / "a.txt").exists()
    with pytest.raises(InputError):
        desk.undo()
    desk.redo()
    assert (work / "a.txt").read_text() == "one\n"


def test_a_command_that_only_reads_takes_no_states(tmp_path: Path) -> None:
    work, desk = desk_on_disk(tmp_path, [say("", call("bash", command="ls")), say("Done.")])
    (work / "a.txt").write_text("one\n")
    say_to(desk, "go")
    assert not list(desk.journal.records_of("checkpoint"))


def test_files_go_back_to_what_they_were_before_a_prompt(tmp_path: Path) -> None:
    work, desk = desk_on_disk(
        tmp_path,
        [
            say("", call("write", file_path="a.txt", content="one\n")),
            say("First."),
            say("", call("bash", command="echo two > a.txt")),
            say("Second."),
        ],
    )
    say_to(desk, "first", "second")
    prompts = [e.seq for e in desk.history.entries if isinstance(e.body, Message) and e.body.role == "user"]
    desk.rewind_files(prompts[-1])
    assert (work / "a.txt").read_text() == "one\n"

"""The stage of checkpoints alone: the changes of a call that ran inside it can be undone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.agent.calls.call import Call
from agentcli.agent.calls.stages import CheckpointStage
from agentcli.core.errors import InputError
from agentcli.permissions.decide import Decision
from tests.agent.calls.passing import a_call, ended
from tests.agent.test_checkpointing import desk_on_disk


@pytest.mark.parametrize(
    "call",
    [a_call("bash", command="write it"), a_call("write", file_path="a.txt", content="new\n")],
    ids=["command", "write"],
)
def test_the_change_of_a_call_is_undone(tmp_path: Path, call: Call) -> None:
    work, session = desk_on_disk(tmp_path, [])
    file = work / "a.txt"
    file.write_text("old\n")
    assert session.core.checkpointer is not None

    async def run(call: Call) -> Call:
        file.write_text("new\n")
        return call

    allowed = call.decided(Decision("allow", "user:once", "", paths=(file,)))
    assert ended(CheckpointStage(session.core.checkpointer), run, allowed) == allowed
    assert file.read_text() == "new\n"
    session.undo_stack.undo()
    assert file.read_text() == "old\n"


def test_a_change_is_kept_even_if_its_call_fails_or_is_cancelled(tmp_path: Path) -> None:
    work, session = desk_on_disk(tmp_path, [])
    file = work / "a.txt"
    file.write_text("old\n")
    assert session.core.checkpointer is not None

    async def run(_: Call) -> Call:
        file.write_text("half\n")
        raise asyncio.CancelledError

    call = a_call("bash", command="write it").decided(Decision("allow", "user:once", ""))
    with pytest.raises(asyncio.CancelledError):
        ended(CheckpointStage(session.core.checkpointer), run, call)
    session.undo_stack.undo()
    assert file.read_text() == "old\n"


def test_a_command_that_only_reads_is_not_looked_around(tmp_path: Path) -> None:
    work, session = desk_on_disk(tmp_path, [])
    assert session.core.checkpointer is not None

    async def run(call: Call) -> Call:
        (work / "a.txt").write_text("unnoticed\n")
        return call

    call = a_call("bash", command="ls").decided(Decision("allow", "read-only", ""))
    ended(CheckpointStage(session.core.checkpointer), run, call)
    with pytest.raises(InputError):
        session.undo_stack.undo()

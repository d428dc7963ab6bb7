"""A tool call between reply and result: one value, which each stage returns with its findings added."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.agent.calls.call import Call, Run, Stage, beginning, wrapped
from agentcli.agent.calls.stages import CheckpointStage
from agentcli.core.errors import InputError
from agentcli.permissions.decide import Decision
from tests.agent.calls.passing import a_call, ended
from tests.agent.calls.test_stages import READ, TOOLS
from tests.agent.test_checkpointing import desk_on_disk


def test_a_denial_ends_a_call_and_its_reason_is_the_result() -> None:
    call = beginning(READ, TOOLS["read"])
    denied = call.decided(Decision("deny", "rule", "A rule forbids it"))
    assert (denied.why_refused, denied.event is not None) == ("A rule forbids it", True)
    assert denied.result is not None
    assert (denied.result.status, denied.result.output) == ("denied", "A rule forbids it")
    assert call.result is None


def test_the_first_stage_is_the_outermost() -> None:
    passed: list[str] = []

    class Named(Stage):
        def __init__(self, name: str) -> None:
            self.name = name

        def around(self, run: Run) -> Run:
            async def ran(call: Call) -> Call:
                passed.append(f"into {self.name}")
                call = await run(call)
                passed.append(f"out of {self.name}")
                return call

            return ran

    async def tool(call: Call) -> Call:
        passed.append("tool")
        return call

    asyncio.run(wrapped([Named("a"), Stage(), Named("b")], tool)(beginning(READ, TOOLS["read"])))
    assert passed == ["into a", "into b", "tool", "out of b", "out of a"]


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

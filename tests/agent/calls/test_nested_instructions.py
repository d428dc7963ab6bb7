"""The stage of nested instructions alone: they come with the first result that touches their folder."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.calls.call import Call
from agentcli.agent.calls.stages import NestedStage, Prepare
from agentcli.agent.instructions import METADATA, NestedInstructions
from agentcli.agent.ports import NothingFound
from agentcli.permissions.decide import Decision
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS
from tests.agent.calls.passing import TOOLS, a_call, ended, unchanged, with_result


def stage_of(work: Path) -> NestedStage:
    instructions = NestedInstructions(MemorySession(), work, (work,), work.parent / "home")
    return NestedStage(instructions, Prepare(TOOLS, NothingFound(dict(TRAITS)), work))


def read(file: Path) -> Call:
    return a_call("read", file_path=str(file)).decided(Decision("allow", "read", "", paths=(file,)))


def workspace(tmp_path: Path) -> Path:
    inner = tmp_path / "work" / "inner"
    (inner / ".agentcli" / "skills").mkdir(parents=True)
    (inner / "AGENTS.md").write_text("Use tabs here.\n")
    (inner / "a.py").write_text("a\n")
    (tmp_path / "work" / "b.py").write_text("b\n")
    return tmp_path / "work"


def test_a_result_brings_the_instructions_of_its_folder(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    result = ended(stage_of(work), with_result("a"), read(work / "inner" / "a.py")).result
    assert result is not None
    assert result.output.startswith("a")
    assert "Use tabs here." in result.output
    assert result.metadata[METADATA] == [str(work / "inner" / "AGENTS.md")]


def test_a_result_of_the_first_folder_a_failed_one_and_none_stay_as_they_are(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    stage = stage_of(work)
    plain = ended(stage, with_result("b"), read(work / "b.py")).result
    assert plain is not None
    assert (plain.output, plain.metadata) == ("b", {})
    assert ended(stage, unchanged, read(work / "inner" / "a.py")).result is None
    command = a_call("bash", command="cat inner/a.py").decided(Decision("allow", "user:once", ""))
    shown = ended(stage, with_result("a"), command).result
    assert shown is not None
    assert shown.output == "a"

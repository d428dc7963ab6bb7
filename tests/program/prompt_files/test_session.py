"""The stage of nested skills alone: the first result that touches their folder names it."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.calls.call import Call
from agentcli.core.tool import ToolOutput
from agentcli.permissions.decide import Decision
from agentcli.program.prompt_files.session import SKILL_FOLDERS, NestedSkills
from agentcli.sessions.in_memory import MemorySession
from tests.agent.calls.passing import a_call, ended, with_output


def workspace(tmp_path: Path) -> Path:
    for name in ("inner", "other"):
        (tmp_path / name / ".agentcli" / "skills").mkdir(parents=True)
        (tmp_path / name / "a.py").write_text("a\n")
    (tmp_path / "b.py").write_text("b\n")
    return tmp_path


def read(*files: Path) -> Call:
    return a_call("read", file_path=str(files[0])).decided(Decision("allow", "read", "", paths=files))


def named(stage: NestedSkills, call: Call, output: ToolOutput) -> object:
    found = ended(stage, with_output(output), call).output
    assert found is not None
    return found.metadata.get(SKILL_FOLDERS)


def test_a_result_names_the_folders_of_skills_that_its_call_is_the_first_to_touch(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    stage = NestedSkills(MemorySession(), work, (work,))
    inner, other = (work / name / ".agentcli" / "skills" for name in ("inner", "other"))
    call = read(work / "inner" / "a.py", work / "other" / "a.py")
    assert named(stage, call, ToolOutput("a")) == [str(inner), str(other)]
    assert stage.folders == (inner, other)
    assert named(stage, call, ToolOutput("a")) is None


def test_the_first_folder_a_failure_and_a_command_name_none(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    stage = NestedSkills(MemorySession(), work, (work,))
    command = a_call("bash", command="cat inner/a.py").decided(Decision("allow", "user:once", ""))
    assert named(stage, read(work / "b.py"), ToolOutput("b")) is None
    assert named(stage, read(work / "inner" / "a.py"), ToolOutput("no", status="error")) is None
    assert named(stage, command, ToolOutput("a")) is None
    assert stage.folders == ()

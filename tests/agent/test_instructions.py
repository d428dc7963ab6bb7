"""Instruction files further down reach the model with the call that touches their folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.calls.call import Call
from agentcli.agent.calls.stages import NestedStage, Prepare
from agentcli.agent.instructions import METADATA, NestedInstructions
from agentcli.agent.ports import FoundTools
from agentcli.core.model import Request
from agentcli.core.record import Prune
from agentcli.permissions.decide import Decision
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS
from tests.agent.calls.passing import TOOLS, a_call, ended, unchanged, with_result
from tests.agent.open_session import open_session, results, say_to


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder, text in (("a", "rules of a"), ("a/b", "rules of b"), ("c", "rules of c")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "AGENTS.md").write_text(text)
        (tmp_path / folder / "x.py").write_text("x = 1\n")
    (tmp_path / "AGENTS.md").write_text("rules of all")
    (tmp_path / ".git").mkdir()
    return tmp_path


def working(project: Path, *calls: Any, trusted: bool = True) -> tuple[Any, list[Request]]:
    requests: list[Request] = []
    left = [say("", one) for one in calls]

    def model(request: Request) -> Reply:
        requests.append(request)
        return left.pop(0) if left else say("done")

    session = open_session(project, model, mode="yolo", trusted=trusted)
    say_to(session, "go")
    return session, requests


def test_the_files_between_the_root_and_a_read_file_come_once_outermost_first(project: Path) -> None:
    reads = [call("read", file_path=name) for name in ("a/b/x.py", "a/x.py", "x.py", "c/x.py")]
    session, requests = working(project, *reads)
    first, second, _, fourth = results(session)
    assert first.output.endswith(
        f'<instructions path="{project}/a/AGENTS.md">\nrules of a\n</instructions>\n'
        f'<instructions path="{project}/a/b/AGENTS.md">\nrules of b\n</instructions>'
    )
    assert first.metadata["instructions"] == [f"{project}/a/AGENTS.md", f"{project}/a/b/AGENTS.md"]
    assert "instructions" not in second.metadata
    assert "rules of c" in fourth.output
    assert "rules of all" not in first.output
    assert len({request.system for request in requests}) == 1
    assert list(session.parts.nested_files) == [f"{project}/{name}/AGENTS.md" for name in ("a", "a/b", "c")]


@pytest.mark.parametrize(
    "touch",
    [
        call("list", path="a"),
        call("grep", pattern="x", path="a"),
        call("glob", pattern="*.py", path="a"),
        call("write", file_path="a/new.py", content="x"),
    ],
)
def test_every_tool_that_takes_a_path_touches_its_folder(project: Path, touch: Any) -> None:
    session, _ = working(project, touch)
    assert "rules of a" in results(session)[0].output
    assert "rules of b" not in results(session)[0].output


def test_nothing_comes_in_a_folder_that_is_not_trusted(project: Path) -> None:
    session, _ = working(project, call("read", file_path="a/x.py"), trusted=False)
    assert "rules" not in results(session)[0].output


def test_ignored_folders_and_links_out_are_passed_over(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (project / ".gitignore").write_text("c/\n")
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text("a secret")
    (project / "a/AGENTS.md").unlink()
    (project / "a/AGENTS.md").symlink_to(secret)
    session, _ = working(project, call("read", file_path="a/x.py"), call("read", file_path="c/x.py"))
    assert "instructions" not in "".join(result.output for result in results(session))


def test_imports_of_a_file_further_down_come_with_it(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("a secret")
    (project / "a/AGENTS.md").write_text(f"rules of a, @style.md and @{outside} and @AGENTS.md")
    (project / "a/style.md").write_text("style of a")
    session, _ = working(project, call("read", file_path="a/x.py"), call("list", path="a"))
    first, second = results(session)
    assert first.metadata["instructions"] == [f"{project}/a/AGENTS.md", f"{project}/a/style.md"]
    assert f'<instructions path="{project}/a/style.md">\nstyle of a\n</instructions>' in first.output
    assert "a secret" not in first.output
    assert "instructions" not in second.metadata


def test_a_file_that_left_the_view_comes_again(project: Path) -> None:
    session, _ = working(project, call("read", file_path="a/x.py"))
    (first,) = results(session)
    session.journal.append(Prune((first.call_id,), 100, "test"))
    assert list(session.parts.nested_files) == []
    assert session.parts.nested is not None
    bare = replace(first, output="x = 1", metadata={})
    added = session.parts.nested.added(bare, project / "a/x.py", TRAITS["read"])
    assert added.output.count("rules of a") == 1


def test_long_files_are_cut_and_all_together_have_a_limit(project: Path) -> None:
    for name in "defgh":
        (project / name).mkdir()
        (project / name / "AGENTS.md").write_text("y" * 10_000_000)
    session, _ = working(project, *(call("list", path=name) for name in "defgh"))
    sizes = [result.output.count("y" * 100) for result in results(session)]
    assert sizes == [160, 160, 160, 0, 0]


def test_rules_for_certain_paths_come_with_the_first_call_that_touches_one(project: Path) -> None:
    rules = project / ".claude/rules"
    (rules / "deep").mkdir(parents=True)
    (rules / "all.md").write_text("for all")
    (rules / "deep/c.md").write_text('---\npaths:\n  - "c/**/*.{py,pyi}"\n---\nonly for c\n')
    (rules / "bare.md").write_text("---\npaths: **/*.rs, a/*.py\n---\nonly for a\n")
    (rules / "folder.md").write_text("---\npaths: c/\n---\nfor the folder\n")
    (rules / "bad.md").write_text('---\npaths: "[z-a]/x"\n---\nfor nothing\n')
    reads = [call("read", file_path=name) for name in ("x.py", "a/b/x.py", "c/x.py", "c/x.py", "a/x.py")]
    own, a_b, c, again, a = results(working(project, *reads)[0])
    assert "instructions" not in own.metadata
    assert "only for" not in a_b.output
    assert c.output.count("only for c") == 1
    assert "paths:" not in c.output
    assert ["for the folder" in one.output for one in (own, a_b, c)] == [False, False, True]
    assert "only for c" not in again.output
    assert f'<instructions path="{rules}/bare.md">\nonly for a\n</instructions>' in a.output
    assert not any("for all" in one.output or "for nothing" in one.output for one in (own, a_b, c, again, a))


# The stage of nested instructions alone: they come with the first result that touches their folder.


def stage_of(work: Path) -> NestedStage:
    instructions = NestedInstructions(MemorySession(), work, (work,), work.parent / "home")
    return NestedStage(instructions, Prepare(TOOLS, FoundTools(dict(TRAITS)), work))


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

"""A subagent whose definition wants a worktree works apart from the workspace."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentcli.core.event import Warned
from agentcli.core.message import ToolResult
from agentcli.core.model import Request
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.program.prompt_files.discover import discover
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.system.worktrees import add_worktree, former_worktree, remove_worktree
from tests.agent.open_session import open_session, results, say_to


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a commit, a hook that would leave a trace, and a file that it wants copied."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / ".worktreeinclude").write_text("local.cfg\n../outside\n")
    (folder / ".gitignore").write_text("local.cfg\n")
    (folder / "local.cfg").write_text("here")
    (tmp_path / "outside").write_text("secret")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "First")
    hook = folder / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    return folder


def run(
    tmp_path: Path, work: Path, *calls: object, rules: Rules | None = None, heard: list[Request] | None = None
) -> tuple[str, list[str]]:
    """The report of a subagent that makes these calls, and the warnings; `heard` gets what the model gets."""
    file = tmp_path / "home/.claude/agents/apart.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: apart\ndescription: d\nisolation: worktree\n---\nYou work.")

    def script(request: Request) -> Reply:
        if heard is not None:
            heard.append(request)
        steps = sum(message.role == "assistant" for message in request.messages)
        if any("You are a subagent" in block for block in request.system):
            return [say("", *calls), say("Done.")][min(steps, 1)]  # type: ignore[arg-type]
        return [say("", call("task", "t1", description="d", prompt="p", agent="apart")), say("Ah.")][min(steps, 1)]

    session = open_session(
        work,
        script,
        mode="auto-edit",
        system=("You are a test.", f"# Where you work\nFolder: {work}\nPlatform: Linux"),
        prompt_files=lambda: discover(None, tmp_path / "home", tmp_path / "config"),
        worktree=lambda id: add_worktree(work, tmp_path / "trees" / id, os.environ),
        rules=rules,
    )
    events = say_to(session, "go")
    return results(session)[0].output, [event.message for event in events if isinstance(event, Warned)]


def test_changes_stay_in_the_worktree_under_a_branch_and_the_report_says_where(work: Path, tmp_path: Path) -> None:
    edit = call("edit", "e1", file_path="a.txt", old_string="one", new_string="two")
    write = call("write", "w1", file_path="b.txt", content="new\n")
    report, _ = run(tmp_path, work, call("read", "r1", file_path="a.txt"), edit, write)
    tree = tmp_path / "trees/t1"
    assert (work / "a.txt").read_text() == "one\n"
    assert (tree / "a.txt").read_text() == "two\n"
    assert f"It worked in {tree} (branch agentcli/" in report
    assert "a.txt | 2 +-" in report
    assert "b.txt" in report
    assert (tree / "local.cfg").read_text() == "here"
    assert not (tmp_path / "trees/outside").exists()
    assert not (tmp_path / "hooked").exists()


def test_a_worktree_without_changes_is_removed(work: Path, tmp_path: Path) -> None:
    report, warnings = run(tmp_path, work, call("read", "r1", file_path="a.txt"))
    assert report.startswith("Done.\n[task(")
    assert not (tmp_path / "trees/t1").exists()
    assert git(work, "worktree", "list").count("\n") == 1
    assert warnings == []


def test_rules_about_paths_of_the_repository_hold_in_the_worktree(work: Path, tmp_path: Path) -> None:
    inner = work / "inner"
    inner.mkdir()
    rules = parse_rules(deny=["write(src/**)", f"write({work}/top/**)"], ask=[f"write({inner}/asked)"])
    paths = ("src/a", "../src/a", "../top/a", "asked", "b")
    writes = [call("write", path, file_path=path, content="x\n") for path in paths]
    report, _ = run(tmp_path, inner, *writes, rules=rules)
    made = {
        str(path.relative_to(tmp_path / "trees/t1")) for path in (tmp_path / "trees/t1").rglob("*") if path.is_file()
    }
    assert made & {"inner/src/a", "src/a", "top/a", "inner/asked", "inner/b"} == {"inner/b"}, report


@pytest.mark.full
def test_a_denied_file_of_the_repository_is_read_neither_there_nor_in_the_worktree(work: Path, tmp_path: Path) -> None:
    (work / "keys").mkdir()
    (work / "keys/a.key").write_text("the-secret\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Second")
    calls = [
        call("read", "r1", file_path="keys/a.key"),
        call("read", "r2", file_path=f"{work}/keys/a.key"),
        call("bash", "b1", command=f"cat {work}/keys/a.key"),
        call("bash", "b2", command="git show HEAD"),
        call("grep", "g1", pattern="secret"),
        call("grep", "g2", pattern="secret", path=str(work)),
    ]
    for rule in ("read(keys/**)", "read(*.key)", f"read({work}/keys/**)"):
        heard: list[Request] = []
        folder = tmp_path / rule.replace("/", "_")
        folder.mkdir()
        run(folder, work, *calls, rules=parse_rules(["read", "bash", "grep"], (), [rule]), heard=heard)
        texts = repr([request.messages for request in heard])
        assert "the-secret" not in texts
        assert texts.count("the rule") >= 3
        assert "left out of what git shows" in texts


@pytest.mark.parametrize("gone", [False, True])
def test_a_former_subagent_goes_on_in_its_worktree_and_never_in_the_workspace(
    work: Path, tmp_path: Path, gone: bool
) -> None:
    file = tmp_path / "home/.claude/agents/apart.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: apart\ndescription: d\nisolation: worktree\n---\n")
    writes = [call("write", f"w{n}", file_path=f"{n}.txt", content="new\n") for n in (1, 2)]
    inside = [say("", writes[0]), say("One."), say("", writes[1]), say("Two.")]
    ids: list[str] = []

    def script(request: Request) -> Reply:
        if any("You are a subagent" in block for block in request.system):
            return inside.pop(0)
        done = [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]
        ids.extend(str(part.output.split('"')[1]) for part in done[:1])
        if len(done) == 1 and gone:
            remove_worktree(work, tmp_path / "trees/t0")
        resume = {"resume": ids[0]} if done else {}
        given = {"description": "d", "prompt": "p", "agent": "apart", **resume}
        return say("", call("task", f"t{len(done)}", **given)) if len(done) < 2 else say("Ah.")

    trees = tmp_path / "trees"
    session = open_session(
        work,
        script,
        mode="auto-edit",
        system=("You are a test.", f"# Where you work\nFolder: {work}\nPlatform: Linux"),
        prompt_files=lambda: discover(None, tmp_path / "home", tmp_path / "config"),
        worktree=lambda id: add_worktree(work, trees / id, os.environ),
        former_worktree=lambda inner: former_worktree(work, inner, trees, os.environ),
    )
    say_to(session, "go")
    second = trees / ("t1" if gone else "t0")
    assert (second / "2.txt").read_text() == "new\n"
    assert (trees / "t0/1.txt").exists() == (not gone)
    assert not [*work.glob("?.txt")][1:]
    assert f"It worked in {second} (branch agentcli/{ids[0]})" in results(session)[1].output


def test_where_no_worktree_can_be_made_it_is_said(work: Path, tmp_path: Path) -> None:
    (work / ".gitmodules").write_text("")
    report, warnings = run(tmp_path, work, call("list", "l1"))
    assert report.startswith("Done.")
    assert warnings == [
        "Agent apart works in the workspace itself: no worktree can be made, since the repository has submodules."
    ]

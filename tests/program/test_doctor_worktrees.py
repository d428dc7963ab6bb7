"""Worktrees of subagents in the findings of `agentcli doctor`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentcli.agent.setup import WHERE
from agentcli.core.message import Message, Text
from agentcli.core.record import Settings
from agentcli.frontends.opening import program_of
from agentcli.program.doctor_worktrees import worktree_rows
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.sessions.info import Parent
from agentcli.system.worktrees import Worktree, add_worktree


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program in a repository with one commit."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q", str(work)], ["-C", str(work), *who, "commit", "-q", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *command], check=True)
    return program_of(Options(cwd=str(work)))


def worktree(program: Program, name: str) -> Worktree:
    made = add_worktree(program.cwd, program.worktrees / name, os.environ)
    (made.folder / "new.txt").write_text("new")
    return made


def test_a_worktree_that_a_crash_left_is_named_with_the_session_that_resumes_it(program: Program) -> None:
    tree = worktree(program, "one")
    parent = program.store.create(program.cwd)
    between = program.store.create(program.cwd, parent=Parent(parent.id, 1, "subagent"))
    child = program.store.create(program.cwd, parent=Parent(between.id, 1, "subagent"))
    for session, folder in ((parent, program.cwd), (between, program.cwd), (child, tree.cwd)):
        session.append(Settings("demo", "ask", system=(f"{WHERE}\nFolder: {folder}\nPlatform: Linux",)))
        session.append(Message("user", (Text("go"),), 1))
    [(name, ok, detail)] = worktree_rows(program)
    assert (name, ok) == ("worktree one", True)
    assert detail.endswith("a subagent is at work in it")
    for session in (parent, between, child):
        session.close()
    [(_, ok, detail)] = worktree_rows(program)
    remove = f"`git -C {program.cwd} worktree remove --force {tree.folder}`"
    assert not ok
    assert f"its subagent was interrupted; `agentcli resume {parent.id}` resumes it there; {remove}" in detail
    subprocess.run(remove.strip("`").split(), check=True)
    assert [*worktree_rows(program)] == []


def test_worktrees_that_are_done_with_have_their_branch_and_those_of_nobody_their_removal(program: Program) -> None:
    worktree(program, "kept").finish("agentcli/x")
    worktree(program, "stray")
    (kept, ok, about_kept), (stray, well, about_stray) = worktree_rows(program)
    assert (kept, ok, stray, well) == ("worktree kept", True, "worktree stray", False)
    assert "has its changes on branch agentcli/x; `git -C " in about_kept
    assert "no session works in it; `git -C " in about_stray
    shutil.rmtree(program.cwd / ".git")
    assert ["its repository is gone; `rm -r " in detail for _, _, detail in worktree_rows(program)] == [True, True]


def test_a_worktree_of_a_bare_repository_is_removed_through_git(program: Program, tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "linked"
    subprocess.run(["git", "clone", "-q", "--bare", str(program.cwd), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "worktree", "add", "-q", "--detach", str(linked)], check=True)
    tree = add_worktree(linked, program.worktrees / "one", os.environ)
    [(_, ok, detail)] = worktree_rows(program)
    remove = f"`git -C {bare} worktree remove --force {tree.folder}`"
    assert not ok
    assert detail.endswith(f"no session works in it; {remove} removes it with its changes")
    subprocess.run(remove.strip("`").split(), check=True)
    assert not tree.folder.exists()

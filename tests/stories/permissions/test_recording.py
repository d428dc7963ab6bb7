"""The sandbox that is open to git alone: it records, and changes none of its own settings."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import detect
from agentcli.system.programs import hardened
from tests.permissions.sandbox.running import completed

SANDBOX = detect()
pytestmark = pytest.mark.skipif(SANDBOX.kind != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "a.txt").write_text("one\n")
    return Workspace(work, (work,), home)


def run(script: str, workspace: Workspace, *, git: bool) -> subprocess.CompletedProcess[str]:
    boxed = SANDBOX.wrap(["bash", "--norc", "-c", script], workspace, git=git)
    who = {f"GIT_{role}_{part}": "A" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    env = {**hardened(os.environ), **who, "HOME": str(workspace.home)}
    return completed(boxed, workspace.cwd, env)


def test_git_records_in_its_sandbox_and_not_in_the_usual_one(workspace: Workspace) -> None:
    command = "git add -A && git commit -qm one && git branch next && git log --format=%an%s"
    assert run(command, workspace, git=False).returncode != 0
    done = run(command, workspace, git=True)
    assert (done.returncode, done.stdout) == (0, "Aone\n"), done.stderr


@pytest.mark.parametrize(
    "script",
    [
        "echo x >> .git/config",
        "git config core.hooksPath x",
        "rm .git/config",
        "mv .git/config .git/old",
        "cp a.txt .git/hooks/pre-commit",
        "mv .git/hooks .git/old",
        "echo x > .git/info/attributes",
    ],
)
def test_the_settings_of_git_stay_closed_there(workspace: Workspace, script: str) -> None:
    before = (workspace.cwd / ".git/config").read_text()
    assert run(script, workspace, git=True).returncode != 0
    assert (workspace.cwd / ".git/config").read_text() == before


def test_a_repository_that_was_added_records_there_as_well_and_its_settings_stay_closed(
    workspace: Workspace, tmp_path: Path
) -> None:
    lib, other = tmp_path / "lib", tmp_path / "lib/nested"
    for folder in (lib, other):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        (folder / "b.txt").write_text("two\n")
    added = replace(workspace, added=lambda: (lib,))
    commit = "git add b.txt && git commit -qm two && git log --format=%s"
    assert run(f"cd {lib} && {commit}", workspace, git=True).returncode != 0
    assert run(f"cd {lib} && {commit}", added, git=True).stdout == "two\n"
    assert run("git add -A && git commit -qm one", added, git=True).returncode == 0
    for script in (f"cd {other} && {commit}", f"cp a.txt {lib}/.git/hooks/x", f"echo x >> {lib}/.git/config"):
        assert run(script, added, git=True).returncode != 0, script
    assert run(f"cd {lib} && git branch x", added, git=False).returncode != 0


def test_what_git_removes_or_moves_there_can_be_got_back(workspace: Workspace) -> None:
    assert (
        run("git add -A && git commit -qm one && git branch gone && git tag old", workspace, git=True).returncode == 0
    )
    made = "echo two > a.txt; git commit -qam two; git checkout -qB gone HEAD; git checkout -q -; git reset -q --hard HEAD~1"
    assert run(made, workspace, git=True).returncode == 0
    assert (workspace.cwd / "a.txt").read_text() == "one\n"
    tip = run("git rev-parse gone", workspace, git=False).stdout[:7]
    removed = run(
        "git branch -D gone && git tag -d old && echo three > a.txt && git stash -q && git stash drop",
        workspace,
        git=True,
    )
    assert removed.returncode == 0, removed.stderr
    assert f"(was {tip}" in removed.stdout
    assert (removed.stdout.count("was "), removed.stdout.count("Dropped")) == (2, 1)
    stash = removed.stdout.rpartition("(")[2].partition(")")[0]
    back = run(
        f"git show {tip}:a.txt && git stash apply -q {stash} && cat a.txt && git reflog | wc -l", workspace, git=True
    )
    assert back.stdout.splitlines()[:2] == ["two", "three"], back.stderr


def test_patches_and_hidden_programs_need_no_open_repository(workspace: Workspace) -> None:
    assert run("git add -A && git commit -qm one && echo two > a.txt", workspace, git=True).returncode == 0
    (workspace.cwd / ".env").write_text("KEY=secret\n")
    done = run(
        "git diff > x.patch && git apply -R x.patch && cat a.txt && git config --list | grep -c core",
        workspace,
        git=False,
    )
    assert (done.returncode, done.stdout.startswith("one\n")) == (0, True), done.stderr
    beside = workspace.cwd.parent / "beside"
    for hidden in (
        "$(printf ca)t .env",
        "eval \"$(printf 'cat .env')\"",
        "x=tee; echo 1 | $x .env",
        "ls .env | xargs cat",
    ):
        assert "secret" not in run(hidden, workspace, git=False).stdout, hidden
    run(f"$(printf touch) {beside}", workspace, git=False)
    for hidden in ('x="git commit -qam two"; $x', "$(printf to)uch .git/hooks/pre-commit"):
        assert run(hidden, workspace, git=False).returncode != 0, hidden
    assert (workspace.cwd / ".env").read_text() == "KEY=secret\n"
    assert not beside.exists()

"""Which hooks a git command runs, by its words and as the installed git really does."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from agentcli.permissions.git_config import GitFacts
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.shell.effects.git_repositories import records_in_git, repository_problem
from tests.tables import each_row

ALL = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
    "post-commit", "pre-rebase", "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc",
)  # fmt: skip
HUSKY = '#!/usr/bin/env sh\n. "${0%/*}/h"'
CHANGE = "echo z >> a; git add a"
PICK = "git cherry-pick con~ con; echo r > a; git add a"
CASES = [
    (CHANGE, "git commit -m x", True),
    (CHANGE, "git commit -nm x", True),
    (CHANGE, "git commit --no-verify --amend -m x", True),
    (CHANGE, "git commit --dry-run -m x", False),
    ("", "git merge dev", True),
    ("", "git merge -n dev", True),
    ("", "git merge --ff-only ahead", True),
    ("", "git merge --squash dev", True),
    ("", "git merge --no-commit ahead", True),
    ("git merge con", "git merge --abort", False),
    ("git merge con", "git merge --quit", False),
    ("git merge con; echo r > a; git add a", "git merge --continue", True),
    ("git checkout dev", "git rebase main", True),
    ("git checkout dev; git merge --no-edit main", "git rebase --rebase-merges --force-rebase -X ours old", True),
    ("git config rebase.backend apply; git checkout dev", "git rebase main", True),
    ("git checkout con; git rebase main; echo r > a; git add a", "git rebase --continue", True),
    ("git checkout con; git rebase main", "git rebase --skip", True),
    ("git checkout con; git rebase main", "git rebase --abort", False),
    ("", "git cherry-pick dev", True),
    ("", "git cherry-pick -n dev", False),
    (PICK, "git cherry-pick --continue", True),
    (PICK, "git cherry-pick --abort", False),
    ("git checkout con; git cherry-pick dev~ dev", "git revert --no-edit HEAD", True),
    ("", "git revert -n HEAD", False),
    ("echo z >> a", "git stash", False),
    ("echo z >> a", "git stash -k", True),
    ("echo z >> a", "git stash push --keep-index", True),
    ("", "git checkout -b x", True),
    ("", "git switch -c x", True),
    ("echo z >> a", "git checkout -- a", True),
    ("echo z >> a", "git restore a", True),
    ("git add a", "git restore --staged a", True),
    ("echo z >> a", "git reset --hard", False),
    ("git checkout dev", "git bisect start HEAD HEAD~2", True),
    ("", "git tag v1", False),
]  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose branches are ahead of main, beside it, and in conflict with it."""
    top = tmp_path_factory.mktemp("history") / "work"
    top.mkdir()
    branches = "git branch old; echo 2 >> a; git commit -qam two; git checkout -qb ahead; echo f > f; git add f; git commit -qm f"
    beside = "git checkout -qb dev old; for name in n m; do echo n > $name; git add $name; git commit -qm $name; done"
    against = "git checkout -qb con old; echo X >> a; git commit -qam con; echo k > k; git add k; git commit -qm k"
    begun = "git init -qb main; git config user.name a; git config user.email a@b; echo 1 > a; git add a; git commit -qm one"
    done(top, f"{begun}; {branches}; {beside}; {against}; git checkout -q main")
    return top


def done(top: Path, line: str) -> None:
    env = {**os.environ, "HOME": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
    subprocess.run(["bash", "-c", line], cwd=top, env=env, capture_output=True, check=False)


def install(hooks: Path, name: str, text: str = "") -> Path:
    hooks.mkdir(parents=True, exist_ok=True)
    (hooks / name).write_text(text or f'#!/bin/sh\necho {name} >> "$HOME/ran"\n')
    (hooks / name).chmod(0o755)
    return hooks / name


def told(command: str, top: Path) -> str:
    made = Workspace(top, (top,), top.parent, undo=UndoCover(100, 1_000), git=lambda _: GitFacts())
    return records_in_git(shlex.split(command), [top], made)


def named(command: str, top: Path) -> set[str]:
    """The hooks that are a reason to ask, each by itself."""
    found = set()
    for name in ALL:
        shutil.rmtree(top / ".git/hooks", ignore_errors=True)
        install(top / ".git/hooks", name)
        if told(command, top) == f"git runs the hook {name} of the repository":
            found.add(name)
    return found


@each_row(("before", "command", "runs"), CASES)
def test_a_hook_that_git_really_runs_is_a_reason(before: str, command: str, runs: bool, history: Path, tmp_path: Path) -> None:  # fmt: skip
    top = shutil.copytree(history, tmp_path / str(len(list(tmp_path.iterdir()))), symlinks=True)
    done(top, before)
    found = named(command, top)
    for name in ALL:
        install(top / ".git/hooks", name)
    done(top, command)
    ran = top.parent / "ran"
    really = set(ran.read_text().split()) if ran.exists() else set()
    ran.unlink(missing_ok=True)
    assert really <= found, really - found
    assert (bool(really), bool(found)) == (runs, runs)


@each_row(
    ("command", "why"),
    [
        ("git commit -m x", "git runs the hook pre-commit of the repository"),
        ("git commit -nm x", "git commit skips the hook pre-commit of the repository"),
        ("git commit -m -n", "git runs the hook pre-commit of the repository"),
        ("git commit --dry-run -m x", ""),
        ("git merge --continue", "git runs the hook pre-commit of the repository"),
        ("git merge -n dev", ""),
        ("git merge --abort", ""),
        ("git rebase -n main", ""),
        ("git cherry-pick dev", ""),
        ("git cherry-pick --continue --no-edit", "git runs the hook pre-commit of the repository"),
        ("git revert --no-edit HEAD", ""),
    ],
)
def test_a_hook_before_commits_counts_where_git_asks_it(command: str, why: str, history: Path, tmp_path: Path) -> None:
    top = tmp_path / "work"
    if not top.exists():
        shutil.copytree(history, top)
        install(top / ".git/hooks", "pre-commit")
    assert told(command, top) == why


def test_a_hook_that_stays_is_named_before_one_that_is_skipped(history: Path, tmp_path: Path) -> None:
    top = shutil.copytree(history, tmp_path / "work")
    for name in ("commit-msg", "post-commit", "pre-commit"):
        install(top / ".git/hooks", name)
    assert told("git commit -n -m x", top) == "git runs the hook post-commit of the repository"


def test_a_file_that_is_not_executable_is_no_hook_until_a_command_may_change_that(
    history: Path, tmp_path: Path
) -> None:
    top = shutil.copytree(history, tmp_path / "work")
    install(top / ".git/hooks", "pre-commit").chmod(0o644)
    assert told("git commit -m x", top) == ""
    made = Workspace(top, (top,), top.parent, git=lambda _: GitFacts())
    assert repository_problem(top, made, "commit") == "git runs the hook pre-commit of the repository"


@pytest.mark.parametrize("text", [HUSKY, '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'])
def test_a_hook_of_husky_counts_if_there_is_the_file_that_it_starts(text: str, history: Path, tmp_path: Path) -> None:
    top = shutil.copytree(history, tmp_path / "work")
    done(top, "git config core.hooksPath .husky/_")
    for name in ALL:
        install(top / ".husky/_", name, text)
    (top / ".husky/commit-msg").write_text("npx commitlint\n")
    assert told("git checkout -b x", top) == told("git rebase main", top) == ""
    assert told("git commit -m x", top) == "git runs the hook commit-msg of the repository"
    install(top / ".husky/_", "post-checkout", f"{text}\n./other\n")
    assert told("git checkout -b x", top) == "git runs the hook post-checkout of the repository"


@pytest.mark.parametrize(
    "text",
    [
        '[hook "lint"]\n\tcommand = make lint\n\tevent = pre-commit\n',
        '[hook "lint"] event = "pre-commit"\n\tcommand = make lint\n',
    ],
)
def test_a_hook_of_the_person_s_own_settings_runs_too(text: str, history: Path, tmp_path: Path) -> None:
    top = shutil.copytree(history, tmp_path / "work")
    (tmp_path / ".gitconfig").write_text(text)
    assert told("git commit -m x", top) == "git runs the hook pre-commit of your settings"
    assert told("git checkout -b x", top) == ""

"""Worktrees for agents that work apart."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentcli.system.git import GitError, git
from agentcli.system.worktrees import INCLUDE, make_worktree, remove_worktree


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "deep/cache").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text("*.cfg\ncache/\nlink*\n")
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=folder, check=True, capture_output=True)
    return folder


def made(repo: Path) -> Path:
    tree = repo.parent / "trees" / "t"
    make_worktree(repo, "HEAD", tree)
    return tree


def test_the_listed_files_are_copied_by_the_rules_of_gitignore(repo: Path) -> None:
    for name in ("local.cfg", "deep/local.cfg", "other.cfg", "deep/cache/one", "deep/cache/kept"):
        (repo / name).write_text(name)
    (repo / INCLUDE).write_text("# for tests\nlocal.cfg\n**/cache/\n!kept\na.txt\n../outside\n/none\n")
    tree = made(repo)
    assert (tree / "deep/local.cfg").read_text() == "deep/local.cfg"
    assert (tree / "local.cfg").exists()
    assert (tree / "deep/cache/one").exists()
    assert not (tree / "other.cfg").exists()


def test_nothing_is_copied_through_a_link_that_leads_out(repo: Path) -> None:
    (repo.parent / "secret").write_text("secret")
    (repo / "local.cfg").write_text("here")
    (repo / "link-out").symlink_to("../secret")
    (repo / "link-in").symlink_to("local.cfg")
    (repo / "link-back").symlink_to(repo / "local.cfg")
    (repo / INCLUDE).write_text("link*\nlocal.cfg\n")
    tree = made(repo)
    assert not os.path.lexists(tree / "link-out")
    assert os.readlink(tree / "link-in") == "local.cfg"
    assert not (tree / "link-back").is_symlink()
    assert (tree / "link-back").read_text() == "here"


def test_a_worktree_is_removed_with_all_that_is_in_it(repo: Path) -> None:
    tree = made(repo)
    (tree / "new.txt").write_text("x")
    remove_worktree(repo, tree)
    assert not tree.exists()
    assert git(repo, "worktree", "list").count("\n") == 0


def test_a_command_that_fails_says_why(repo: Path) -> None:
    with pytest.raises(GitError, match="single revision"):
        git(repo, "rev-parse", "--verify", "nobody^{commit}", "--")
    with pytest.raises(GitError, match="failed in"):
        git(repo / "missing", "status")

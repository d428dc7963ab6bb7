"""Merges and removals that are killed lose no edit, leave the checkout as it was, and can be repeated."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.program.merging import MARK
from agentcli.program.named_worktree import NamedWorktree
from tests.program.test_named_worktree import git, left, opened
from tests.program.test_named_worktree import repository as repository

FILES = 600
KILL = """#!/bin/sh
case " $* " in
  *" merge -q --no-edit "*) exec timeout -s KILL "$(cat {delay})" {git} "$@" ;;
  *) exec {git} "$@" ;;
esac
"""
"""A git that is killed amid a merge."""
KILLED_REMOVAL = """#!/bin/sh
case " $* " in
  *" worktree remove "*) for folder; do :; done; rm -f "$folder/a.txt"; kill -KILL $PPID ;;
  *) exec {git} "$@" ;;
esac
"""
"""A git that removes the first file of a worktree, and is then killed together with the program."""
CHILD = """
import os, sys
from pathlib import Path
from agentcli.program.named_worktree import NamedWorktree
from agentcli.system.worktrees import Worktree
name, root, folder, head, act = sys.argv[1:]
tree = Worktree(Path(root), Path(folder), Path(folder), head, os.environ)
print("begins", flush=True)
getattr(NamedWorktree(name, tree, uncommitted=False), act)()
"""


def large(repository: Path, name: str) -> NamedWorktree:
    """A worktree with many changed and new files, while the checkout has moved on and has files of its own."""
    worktree = opened(repository, name)
    for number in range(FILES):
        folder = worktree.tree.cwd / f"{name}-{number % 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{name} {number}\n" * 200)
    (worktree.tree.cwd / "a.txt").write_text(f"{name}\n")
    (repository / "mine.txt").write_text("mine\n")
    return worktree


def refusal(worktree: NamedWorktree) -> str:
    """Why a worktree is not merged; empty if it was."""
    try:
        worktree.merge()
    except InputError as error:
        return str(error)
    return ""


def state(repository: Path) -> tuple[str, str]:
    return git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.full
def test_a_git_that_is_killed_amid_a_merge_leaves_the_checkout_as_it_was(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = large(repository, "fix")
    delay, place = tmp_path / "delay", tmp_path / "bin"
    place.mkdir()
    (place / "git").write_text(KILL.format(delay=delay, git=shutil.which("git")))
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    before, killed = state(repository), 0
    assert before[1] == "?? mine.txt"
    for step in range(1, 40):
        delay.write_text(f"{step * 0.005:.3f}")
        if not (refused := refusal(worktree)):
            break
        assert "Not merged: git was killed. To merge it by hand" in refused
        killed += 1
        assert state(repository) == before
    else:
        delay.write_text("60")
        assert worktree.merge() == "main"
    assert killed
    assert state(repository)[1] == "?? mine.txt"
    assert (repository / "fix-0" / "0.txt").read_text() == "fix 0\n" * 200
    assert left(repository) == ([], ["main"])


@pytest.mark.full
def test_after_a_kill_of_git_and_program_each_act_can_be_repeated_or_says_what_to_do(repository: Path) -> None:
    told = 0
    for step in range(10):
        act, name = ("merge", "discard")[step % 2], f"w{step}"
        worktree = large(repository, name)
        git(worktree.tree.folder, "add", "--all")
        git(worktree.tree.folder, "commit", "-q", "-m", name)
        where = (name, str(repository), str(worktree.tree.folder), worktree.tree.head, act)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, *where], stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "begins\n"
        while act == "merge" and child.poll() is None and not (repository / ".git" / MARK).exists():
            time.sleep(0.001)
        while step % 4 == 2 and child.poll() is None and not (repository / f"{name}-0").exists():
            time.sleep(0.001)  # git has begun to write files
        time.sleep(0 if step % 4 == 2 else step * 0.02)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if act == "discard":
            branch = worktree.discard()
            assert branch in ("", f"agentcli/{name}")
            assert git(repository, "branch", "--list", f"agentcli/{name}") == (f"{branch}" and f"  {branch}".strip())
        else:
            refused = refusal(worktree)
            if refused and "it was merged or discarded before" not in refused:
                told += 1
                assert "did not finish" in refused, refused
                for lock in (repository / ".git").rglob("*.lock"):
                    lock.unlink()
                if git(repository, "status", "--porcelain"):
                    git(repository, "stash", "-q", "-u")
                worktree.merge()
            assert (repository / "a.txt").read_text() == f"{name}\n"
            assert len(list(repository.glob(f"{name}-*/*.txt"))) == FILES
        assert len(git(repository, "worktree", "list").splitlines()) == 1
        assert not worktree.tree.folder.exists()
    assert told


def test_a_removal_that_is_killed_after_a_merge_deletes_no_file_of_the_branch(repository: Path, tmp_path: Path) -> None:
    worktree, place = opened(repository), tmp_path / "bin"
    (worktree.tree.cwd / "b.txt").write_text("new\n")
    place.mkdir()
    (place / "git").write_text(KILLED_REMOVAL.format(git=shutil.which("git")))
    (place / "git").chmod(0o755)
    where = ("fix", str(repository), str(worktree.tree.folder), worktree.tree.head, "merge")
    env = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    assert subprocess.run([sys.executable, "-c", CHILD, *where], env=env, capture_output=True).returncode == -9
    assert worktree.merge() == "main"
    assert git(repository, "ls-files").split() == ["a.txt", "b.txt"]
    assert left(repository) == ([], ["main"])
    assert [*worktree.tree.folder.parent.glob(".*removed*")] == []


def test_a_merge_whose_worktree_is_gone_already_is_ended(repository: Path) -> None:
    worktree = opened(repository)
    (worktree.tree.cwd / "a.txt").write_text("two\n")
    git(worktree.tree.folder, "commit", "-q", "-a", "-m", "second")
    shutil.rmtree(worktree.tree.folder)
    assert worktree.merge() == "main"
    assert ((repository / "a.txt").read_text(), left(repository)) == ("two\n", ([], ["main"]))


def test_a_branch_whose_folder_is_gone_is_only_deleted_with_nothing_on_it(repository: Path) -> None:
    for changed in (False, True):
        worktree = opened(repository, f"w{changed}")
        if changed:
            git(worktree.tree.folder, "commit", "-q", "--allow-empty", "-m", "kept")
        shutil.rmtree(worktree.tree.folder)
        assert worktree.discard() == ("agentcli/wTrue" if changed else "")
    assert left(repository) == ([], ["agentcli/wTrue", "main"])


def test_a_disk_that_takes_no_more_stops_a_merge_before_anything_has_changed(repository: Path) -> None:
    """Files have a largest size here, at which a write fails as on a full disk."""
    worktree = opened(repository)
    (worktree.tree.cwd / "first.txt").write_text("first\n")
    (worktree.tree.cwd / "large.bin").write_bytes(os.urandom(400_000))
    git(worktree.tree.folder, "add", "--all")
    git(worktree.tree.folder, "commit", "-q", "-m", "large")
    before = state(repository)
    where = ("fix", str(repository), str(worktree.tree.folder), worktree.tree.head, "merge")
    limited = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", sys.executable, "-c", CHILD, *where]
    ran = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert (ran.returncode, "InputError: Not merged: " in ran.stderr) == (1, True), ran.stderr
    assert state(repository) == before
    assert worktree.merge() == "main"
    assert (repository / "large.bin").stat().st_size == 400_000

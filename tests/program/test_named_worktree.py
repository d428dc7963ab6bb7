"""A session in a worktree of its own loses no edit, and leaves nothing behind without a word."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.program.named_worktree import NamedWorktree, found_worktree, open_worktree
from tests.e2e.program import Program

READ = 0.6
"""Seconds in which a person reads a question; keys from before are dropped."""


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    git(work, "config", "user.name", "Ann")
    git(work, "config", "user.email", "ann@example.org")
    (work / "a.txt").write_text("one\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    return work


def opened(repository: Path, name: str = "fix") -> NamedWorktree:
    return open_worktree(repository, name, repository.parent / "trees", os.environ)


def left(repository: Path) -> tuple[list[str], list[str]]:
    """The folders of worktrees, and the branches."""
    trees = [path.name for path in (repository.parent / "trees").glob("[!.]*")]
    return trees, git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def test_work_is_merged_committed_or_not_and_nothing_is_left(repository: Path) -> None:
    worktree = opened(repository)
    assert not worktree.is_changed
    (worktree.tree.cwd / "a.txt").write_text("two\n")
    git(worktree.tree.folder, "commit", "-q", "-a", "-m", "second")
    (worktree.tree.cwd / "new.txt").write_text("new\n")
    assert worktree.is_changed
    assert "2 files changed" in worktree.stat()
    assert "+new" in worktree.diff()
    assert worktree.merge() == "main"
    assert ((repository / "a.txt").read_text(), (repository / "new.txt").read_text()) == ("two\n", "new\n")
    assert left(repository) == ([], ["main"])


def test_what_stands_in_the_way_of_a_merge_is_named_and_both_sides_stay(repository: Path) -> None:
    worktree = opened(repository)
    (worktree.tree.cwd / "a.txt").write_text("theirs\n")
    (repository / "a.txt").write_text("ours\n")
    with pytest.raises(InputError, match="has uncommitted changes"):
        worktree.merge()
    git(repository, "commit", "-q", "-a", "-m", "ours")
    with pytest.raises(InputError, match=r"conflicts in a\.txt\. To merge it by hand: `git -C .* merge agentcli/fix`"):
        worktree.merge()
    assert (repository / "a.txt").read_text() == "ours\n"
    assert git(repository, "status", "--porcelain") == ""
    assert (worktree.tree.cwd / "a.txt").read_text() == "theirs\n"
    git(repository, "checkout", "-q", "--detach")
    with pytest.raises(InputError, match="detached HEAD"):
        worktree.merge()
    worktree.discard()
    assert left(repository) == ([], ["main"])


def test_what_cannot_be_a_worktree_gets_one_sentence_and_changes_nothing(repository: Path, tmp_path: Path) -> None:
    opened(repository)
    git(repository, "branch", "agentcli/taken")
    before = left(repository)
    for name, reason in (("fix", "The worktree fix exists"), ("taken", "The branch agentcli/taken exists")):
        with pytest.raises(InputError, match=reason):
            opened(repository, name)
    for name in ("../up", "a b", "", "-x", "x.lock", "a..b", "a/b", "ä", "n" * 65):
        with pytest.raises(UsageError, match="Not a name for a worktree"):
            opened(repository, name)
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is not in a git repository"):
        open_worktree(empty, "x", tmp_path / "trees", os.environ)
    git(empty, "init", "-q", "--bare", "bare.git")
    with pytest.raises(InputError, match="has no checkout: it is a bare repository"):
        open_worktree(empty / "bare.git", "x", tmp_path / "trees", os.environ)
    git(empty, "init", "-q")
    with pytest.raises(InputError, match="has no commit yet"):
        open_worktree(empty, "x", tmp_path / "trees", os.environ)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="No worktree"):
        open_worktree(repository, "x", tmp_path / "file", os.environ)
    assert left(repository) == before


def script(program: Program) -> tuple[str, ...]:
    """A model that writes new.txt; any command is allowed."""
    call = {"name": "write", "input": {"file_path": "new.txt", "content": "new\n"}}
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": [{"calls": [call]}, {"text": "Done."}]}))
    return "-m", f"script:{file}", "--mode", "auto-edit"


def test_a_run_without_a_person_keeps_its_changes_and_removes_an_unchanged_worktree(repository: Path) -> None:
    program = Program(repository.parent)
    (repository / "a.txt").write_text("not committed\n")
    same = program.run("-w", "same", "-p", "hello", "-m", "script:echo")
    assert (same.code, "Kept" in same.err) == (0, False)
    assert "starts at HEAD, without your uncommitted changes" in same.err
    assert left(repository)[1] == ["main"]
    changed = program.run("-w", "change", "-p", "hello", *script(program))
    assert "Kept change on branch agentcli/change. To continue: agentcli -C " in changed.err
    folder = Path(changed.err.partition("agentcli -C ")[2].split()[0].replace("~", str(program.base)))
    assert (folder / "new.txt").read_text() == "new\n"
    assert not (repository / "new.txt").exists()
    assert "answer" in program.run("-C", str(folder), "-c", "-p", "answer", "-m", "script:echo").out


@pytest.mark.full
def test_the_person_decides_at_the_end_what_happens_to_the_changes(repository: Path) -> None:
    program = Program(repository.parent)
    with program.terminal("-w", "fix", *script(program), "write it") as terminal:
        terminal.until("Done.")
        terminal.send("\x04", until="Enter keeps it · m merges into main · d shows the diff · x discards it:")
        terminal.settle(READ)
        terminal.send("d\r", until="+new")
        terminal.settle(READ)
        terminal.send("m\r", until="Merged")
        assert terminal.wait() == 0
    assert (repository / "new.txt").read_text() == "new\n"
    assert left(repository)[1] == ["main"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_hundred_merges_lose_no_edit_and_leave_nothing_without_a_word(repository: Path) -> None:
    """Worktrees change lines of their own, and every fourth one a line that another changes, too."""
    (repository / "shared.txt").write_text("start\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "shared")
    merged, told = [], []
    for batch in range(20):
        trees = [opened(repository, f"w{batch}-{number}") for number in range(10)]
        for number, tree in enumerate(trees):
            (tree.tree.cwd / f"own-{tree.name}.txt").write_text(f"{tree.name}\n")
            if number % 4 == 0:
                (tree.tree.cwd / "shared.txt").write_text(f"start {tree.name}\n")
            if number % 3 == 0:
                git(tree.tree.folder, "add", "--all")
                git(tree.tree.folder, "commit", "-q", "-m", tree.name)
        if batch % 5 == 0:
            (repository / "a.txt").write_text(f"mine {batch}\n")  # the person's own work stops each merge
        with ThreadPoolExecutor(4) as threads:
            said = list(threads.map(_merged, trees))
        if batch % 5 == 0:
            assert all("uncommitted changes" in text for text in said)
            git(repository, "commit", "-q", "-a", "-m", f"mine {batch}")
            said = [_merged(tree) for tree in trees]
        for tree, text in zip(trees, said, strict=True):
            if text:
                told.append(tree)
                assert "conflicts in shared.txt" in text
                assert f"merge {tree.branch}`" in text
                assert (tree.tree.cwd / f"own-{tree.name}.txt").read_text() == f"{tree.name}\n"
                assert (tree.tree.cwd / "shared.txt").read_text() == f"start {tree.name}\n"
            else:
                merged.append(tree)
    assert (len(merged) + len(told), git(repository, "status", "--porcelain")) == (200, "")
    for tree in merged:
        assert (repository / f"own-{tree.name}.txt").read_text() == f"{tree.name}\n"
    assert sorted(left(repository)[0]) == sorted(tree.tree.folder.name for tree in told)
    assert sorted(left(repository)[1]) == sorted(["main", *(tree.branch for tree in told)])
    print(f"{len(merged)} merged, {len(told)} with conflicts kept")


def _merged(tree: NamedWorktree) -> str:
    """Merge, and return why it was not; empty if it was."""
    try:
        tree.merge()
    except InputError as error:
        return str(error)
    return ""


def test_a_merge_of_the_persons_own_is_never_ended(repository: Path) -> None:
    worktree = opened(repository)
    (worktree.tree.cwd / "new.txt").write_text("new\n")
    git(repository, "checkout", "-q", "-b", "side")
    git(repository, "commit", "-q", "--allow-empty", "-m", "side")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "--no-commit", "side")
    with pytest.raises(InputError, match="A merge is not finished"):
        worktree.merge()
    git(repository, "rev-parse", "MERGE_HEAD")
    git(repository, "commit", "-q", "-m", "merged")
    assert worktree.merge() == "main"


def test_a_worktree_is_merged_into_the_checkout_that_it_was_made_from(repository: Path, tmp_path: Path) -> None:
    """Git's own folder does not tell which one: here it is a linked worktree of the person's."""
    linked, trees = tmp_path / "linked", tmp_path / "trees"
    git(repository, "worktree", "add", "-q", "-b", "side", str(linked))
    made = open_worktree(linked, "fix", trees, os.environ)
    (made.tree.cwd / "new.txt").write_text("new\n")
    found = found_worktree(made.tree.cwd, trees, os.environ)
    assert found is not None
    assert (found.tree.root, found.tree.head, found.name) == (linked, made.tree.head, "fix")
    assert found.merge() == "side"
    assert ((linked / "new.txt").exists(), (repository / "new.txt").exists()) == (True, False)


def test_changes_move_into_the_worktree_and_nothing_stays_in_the_stash(repository: Path) -> None:
    (repository / "a.txt").write_text("two\n")
    (repository / "new.txt").write_text("new\n")
    worktree = opened(repository)
    worktree.take_along()
    assert git(repository, "status", "--porcelain") == ""
    assert ((worktree.tree.cwd / "a.txt").read_text(), (worktree.tree.cwd / "new.txt").read_text()) == (
        "two\n",
        "new\n",
    )
    assert git(repository, "stash", "list") == ""
    assert found_worktree(worktree.tree.cwd, repository.parent / "trees", os.environ) is not None
    assert worktree.merge() == "main"
    assert (repository / "new.txt").read_text() == "new\n"

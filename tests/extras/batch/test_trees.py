"""Trees of tasks, their results as commits, and merging these."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError
from agentcli.extras.batch import trees
from agentcli.extras.batch.ledger import Row, fold
from agentcli.extras.batch.merging import merge
from agentcli.extras.batch.plan import Plan, Start
from agentcli.extras.batch.results import Batch, clean
from agentcli.extras.batch.tasks import Isolation, Task
from agentcli.extras.batch.work import Work
from agentcli.system.git import git
from agentcli.system.paths import app_dirs

GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".env\n")
    (folder / ".env").write_text("SECRET=1\n")
    (folder / ".worktreeinclude").write_text("# for the tests\n.env\n/none\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        subprocess.run(["git", *who, *command], cwd=folder, env=GIT, check=True, capture_output=True)
    return folder


def worked(repo: Path, cache: Path, base: str, id: str, isolation: Isolation = "worktree", **files: str) -> Row:
    """A task that wrote these files; its row."""
    tree = trees.make_tree(cache, str(repo), base, isolation, f"b-{id}")
    for name, text in files.items():
        (tree / name.replace("_", ".")).write_text(text)
    ref = f"{trees.REFS}/b/{id}/1"
    result = trees.record(str(repo), tree, base, ref, id, cache / f"{id}.diff", isolation)
    return Row(id, 1, "x", "passed", 1.0, commit=result.commit, worktree=str(tree), patch_lines=result.patch_lines)


@pytest.mark.parametrize("isolation", ["worktree", "clone"])
def test_changes_become_a_commit_of_the_repository_and_nothing_else_moves(
    repo: Path, tmp_path: Path, isolation: Isolation
) -> None:
    cache = tmp_path / "cache"
    base = trees.base_commit(str(repo), "HEAD")
    row = worked(repo, cache, base, "t", isolation, a_txt="two\n", new_txt="x\n")
    assert git(repo, "diff", "--name-only", base, row.commit).split() == ["a.txt", "new.txt"]
    assert git(repo, "rev-parse", "HEAD") == base
    assert git(repo, "status", "--porcelain") == ""
    assert (Path(row.worktree) / ".env").read_text() == "SECRET=1\n"
    assert "+two" in (cache / "t.diff").read_text()
    trees.remove_tree(cache, str(repo), Path(row.worktree), isolation)
    assert not Path(row.worktree).exists()
    assert len(git(repo, "worktree", "list").splitlines()) == 1


def test_a_task_that_changes_nothing_has_no_commit(repo: Path, tmp_path: Path) -> None:
    base = trees.base_commit(str(repo), "HEAD")
    assert worked(repo, tmp_path / "cache", base, "t").commit == ""


def test_what_was_not_made_here_is_never_removed(repo: Path, tmp_path: Path) -> None:
    for isolation in ("worktree", "clone", "copy", "none"):
        trees.remove_tree(tmp_path / "cache", str(repo), repo, isolation)  # type: ignore[arg-type]
    assert (repo / "a.txt").exists()


def test_a_base_that_does_not_exist_is_named(repo: Path) -> None:
    for name in ("nobody", "--output=x", ""):
        with pytest.raises(InputError):
            trees.base_commit(str(repo), name)


@pytest.mark.full
@pytest.mark.parametrize("version", [(), (2, 30)])
def test_results_are_merged_without_a_checkout_and_conflicts_named(
    repo: Path, tmp_path: Path, version: tuple[int, ...]
) -> None:
    base = trees.base_commit(str(repo), "HEAD")
    found = [
        worked(repo, tmp_path / "cache", base, "one", a_txt="two\n"),
        worked(repo, tmp_path / "cache", base, "other", b_txt="b\n"),
        worked(repo, tmp_path / "cache", base, "clash", a_txt="three\n"),
    ]
    entries = {row.id: {"repo": str(repo), "base": base, "digest": ""} for row in found}
    batch = Batch(tmp_path, "b", {"isolation": "worktree"}, entries, fold(found))
    cache = tmp_path / "cache"
    passed: list[Any] = []

    def through(things: Iterable[Any]) -> Iterator[Any]:
        for thing in things:
            passed.append(thing)
            yield thing

    result = merge(batch, "agentcli/b", cache, version=version, through=through)
    assert [id for id, _ in passed] == ["one", "other", "clash"]
    assert (result.merged, dict(result.conflicts)) == (("one", "other"), {"clash": ["a.txt"]})
    assert git(repo, "show", "agentcli/b:a.txt") == "two"
    assert git(repo, "show", "agentcli/b:b.txt") == "b"
    assert (repo / "a.txt").read_text() == "one\n"
    assert merge(batch, "agentcli/b", cache, version=version) == result
    assert not [*cache.glob("worktrees/merge-*")]
    with pytest.raises(InputError, match="checked out"):
        merge(batch, "main", cache)
    with pytest.raises(InputError, match="nothing to merge"):
        merge(batch, "x", cache, ["nobody"])
    clean(batch, tmp_path / "cache")
    assert git(repo, "for-each-ref", trees.REFS) == ""


@pytest.mark.parametrize("id", ["x.lock", "a..b", ".h", "h.", "-", "_", "..-", "x.locked", "a.lock.b", "a.b", ".lock"])
def test_the_result_of_a_task_of_any_id_is_kept_under_a_ref(repo: Path, tmp_path: Path, id: str) -> None:
    base = trees.base_commit(str(repo), "HEAD")
    work = Work(Start(Task(id, "do it", str(repo))), "token", Plan("b"), base, tmp_path / "out", app_dirs())
    tree = trees.make_tree(tmp_path / "cache", str(repo), base, "worktree", work.tree.name)
    (tree / "new.txt").write_text("x")
    found = trees.record(str(repo), tree, base, work.ref, id, tmp_path / "patch", "worktree")
    assert git(repo, "for-each-ref", "--format=%(objectname)", trees.REFS) == found.commit
    trees.remove_tree(tmp_path / "cache", str(repo), tree, "worktree")


def test_every_id_that_a_task_may_have_has_a_ref_of_its_own(repo: Path) -> None:
    words = ["".join(letters) for size in range(1, 5) for letters in product("a.", repeat=size)]
    ids = [
        id
        for id in [*words, *(f"{word}{end}" for word in words for end in ("lock", "lock.", "-lock"))]
        if id.strip(".")
    ]
    refs = {trees.result_ref("b", id, 1) for id in ids}
    assert len(refs) == len({*ids})
    head = git(repo, "rev-parse", "HEAD")
    # Git makes all of them or none.
    wanted = "".join(f"create {ref} {head}\n" for ref in refs)
    subprocess.run(["git", "update-ref", "--stdin"], cwd=repo, env=GIT, input=wanted, text=True, check=True)


def test_sixteen_trees_are_made_at_once(repo: Path, tmp_path: Path) -> None:
    base = trees.base_commit(str(repo), "HEAD")

    def make(number: int) -> Path:
        return trees.make_tree(tmp_path / "cache", str(repo), base, "worktree", f"b-{number}")

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(make, range(16)))
    assert all((tree / "a.txt").exists() for tree in made)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda tree: trees.remove_tree(tmp_path / "cache", str(repo), tree, "worktree"), made))
    assert len(git(repo, "worktree", "list").splitlines()) == 1


def test_a_patch_applies_as_it_is_to_the_byte(repo: Path, tmp_path: Path) -> None:
    base = trees.base_commit(str(repo), "HEAD")
    tree = trees.make_tree(tmp_path / "cache", str(repo), base, "worktree", "b-t")
    (tree / "a.txt").write_bytes(b"one\r\n\xff two\r\n\n")
    (tree / "new.bin").write_bytes(bytes(range(256)))
    patch = tmp_path / "patch.diff"
    result = trees.record(str(repo), tree, base, f"{trees.REFS}/b/t/1", "t", patch, "worktree")
    subprocess.run(["git", "apply", str(patch)], cwd=repo, env=GIT, check=True)
    assert (repo / "a.txt").read_bytes() == (tree / "a.txt").read_bytes()
    assert (repo / "new.bin").read_bytes() == (tree / "new.bin").read_bytes()
    assert result.patch_lines == patch.read_bytes().count(b"\n")


def test_a_task_in_a_folder_of_a_repository_works_in_that_folder_of_the_tree(repo: Path, tmp_path: Path) -> None:
    (repo / "docs").mkdir()
    base = trees.base_commit(str(repo / "docs"), "HEAD")
    tree = trees.make_tree(tmp_path / "cache", str(repo / "docs"), base, "worktree", "b-t")
    assert (tree / "a.txt").exists()
    assert (tree / ".env").exists()
    assert trees.workplace(str(repo / "docs"), tree, "worktree") == tree / "docs"
    assert trees.workplace(str(repo), tree, "worktree") == tree


def test_of_a_copy_there_is_a_patch(repo: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    row = worked(repo, cache, "", "t", "copy", a_txt="two\n", new_txt="x\n")
    assert (row.commit, row.patch_lines) == ("", (cache / "t.diff").read_text().count("\n"))
    subprocess.run(["git", "apply", str(cache / "t.diff")], cwd=repo, env=GIT, check=True)
    assert ((repo / "a.txt").read_text(), (repo / "new.txt").read_text()) == ("two\n", "x\n")
    trees.remove_tree(cache, str(repo), Path(row.worktree), "copy")
    assert [path.name for path in (cache / "worktrees").iterdir()] == []

"""Repositories that are named by a URL."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.extras.batch import mirrors, trees
from agentcli.extras.batch.ledger import Row, fold
from agentcli.extras.batch.merging import merge
from agentcli.extras.batch.results import Batch, clean
from agentcli.system.git import GitError, git
from tests.tables import each_row


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    commit(folder, "one")
    return folder


def commit(folder: Path, text: str) -> str:
    (folder / "a.txt").write_text(text)
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["add", "."], ["commit", "-qm", text]):
        subprocess.run(["git", *who, *command], cwd=folder, check=True, capture_output=True)
    return git(folder, "rev-parse", "HEAD")


@each_row(
    ("name", "expected"),
    [
        ("https://example.org/a/b.git", True),
        ("git@example.org:a/b.git", True),
        ("file:///srv/b", True),
        ("../b", False),
        ("/srv/b", False),
        ("ext::sh -c true", False),
        ("--upload-pack=x", False),
    ],
)
def test_a_url_is_told_from_a_folder(name: str, expected: bool) -> None:
    assert mirrors.is_url(name) == expected


@pytest.mark.full
@pytest.mark.parametrize("isolation", ["worktree", "clone"])
def test_tasks_work_in_trees_of_a_mirror_and_their_results_are_merged_there(
    source: Path, tmp_path: Path, isolation: str
) -> None:
    cache, url = tmp_path / "cache", f"file://{source}"
    repo = mirrors.fetched(cache, url)
    assert mirrors.local(cache, url) == repo
    base = trees.base_commit(repo, "HEAD")
    tree = trees.make_tree(cache, repo, base, isolation, "b-t")  # type: ignore[arg-type]
    assert trees.workplace(repo, tree, isolation) == tree  # type: ignore[arg-type]
    (tree / "a.txt").write_text("changed")
    ref = f"{trees.REFS}/b/t/1"
    result = trees.record(repo, tree, base, ref, "t", tmp_path / "t.diff", isolation)  # type: ignore[arg-type]
    row = Row("t", 1, "x", "passed", commit=result.commit, worktree=str(tree))
    batch = Batch(tmp_path, "b", {}, {"t": {"repo": repo, "base": base, "digest": ""}}, fold([row]))
    assert merge(batch, "agentcli/b", cache).merged == ("t",)
    assert git(repo, "show", "agentcli/b:a.txt") == "changed"
    commit(source, "two")
    mirrors.fetched(cache, url)
    assert git(repo, "show", "agentcli/b:a.txt") == "changed"
    trees.remove_tree(cache, repo, tree, isolation)  # type: ignore[arg-type]
    clean(batch, cache)


def test_a_mirror_is_fetched_only_for_a_commit_that_it_lacks(source: Path, tmp_path: Path) -> None:
    url = f"file://{source}"
    first = git(source, "rev-parse", "HEAD")
    repo = mirrors.fetched(tmp_path, url, first)
    second = commit(source, "two")
    assert git(mirrors.fetched(tmp_path, url, first), "rev-parse", "HEAD") == first
    assert git(mirrors.fetched(tmp_path, url, second), "rev-parse", "HEAD") == second
    source.rename(tmp_path / "gone")
    assert mirrors.fetched(tmp_path, url, second) == repo
    with pytest.raises(GitError):
        mirrors.fetched(tmp_path, url)


def test_a_source_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(GitError):
        mirrors.fetched(tmp_path, f"file://{tmp_path}/nobody")
    assert not Path(mirrors.local(tmp_path, f"file://{tmp_path}/nobody")).exists()

"""Changes as git sees them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.system.git_changes import changes, choices

CONFIG = (
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@example.org",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "commit.gpgsign=false",
)


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *CONFIG, *words], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit on main, one more on `feature`, which is checked out, an edit and a new file that are not committed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "First")
    git(folder, "checkout", "-qb", "feature")
    (folder / "b.txt").write_text("committed on the branch\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Second")
    (folder / "a.txt").write_text("edited\n")
    (folder / "sub").mkdir()
    (folder / "sub/new.txt").write_text("never added\n")
    return folder


@pytest.mark.full
def test_the_working_tree_a_branch_a_commit_and_a_range(repository: Path) -> None:
    tree = changes(repository)
    assert tree.title == "the working tree"
    assert "+edited" in tree.diff
    assert "+never added" in tree.diff
    assert "b/sub/new.txt" in tree.diff
    assert "committed on the branch" not in tree.diff
    branch = changes(repository, "main")
    assert branch.title == "this branch since main"
    assert "+committed on the branch" in branch.diff
    assert "+edited" in branch.diff
    assert changes(repository, "feature") == branch, "the branch itself is compared with the main one"
    commit = changes(repository, "HEAD")
    assert commit.title.endswith("Second")
    assert commit.title.startswith("commit ")
    assert "+committed on the branch" in commit.diff
    assert "edited" not in commit.diff
    assert changes(repository, "main..feature").diff == commit.diff
    assert "+one" in changes(repository, "main~0^0").diff, "a first commit has no parent"


def test_from_a_subfolder_new_files_are_found_all_the_same(repository: Path) -> None:
    assert "+never added" in changes(repository / "sub").diff


def test_a_repository_without_a_commit_has_its_files_as_changes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("first\n")
    git(tmp_path, "add", "a")
    assert "+first" in changes(tmp_path).diff
    assert list(choices(tmp_path)) == []


def test_branches_and_commits_are_offered(repository: Path) -> None:
    offered = list(choices(repository))
    assert offered[0] == ("main", "branch")
    assert [about for _, about in offered[1:]] == ["Second", "First"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["nonsense", "--output=x", "-O", "main..nonsense", "main..--exec", " "])
def test_a_name_that_is_no_revision_is_refused_and_never_an_option(repository: Path, name: str) -> None:
    with pytest.raises(InputError, match="no branch or commit"):
        changes(repository, name)
    assert not (repository / "x").exists()


def test_outside_of_a_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git repository"):
        changes(tmp_path)
    assert list(choices(tmp_path)) == []


@pytest.mark.full
def test_nothing_of_the_repository_is_run(repository: Path) -> None:
    git(repository, "config", "core.fsmonitor", "touch fsmonitor-ran; false")
    git(repository, "config", "diff.evil.textconv", "touch textconv-ran; cat")
    (repository / ".gitattributes").write_text("*.txt diff=evil\n")
    changes(repository)
    changes(repository, "main")
    changes(repository, "HEAD")
    assert not [path.name for path in repository.iterdir() if path.name.endswith("-ran")]

"""Which denied content a command of git shows, by its words and by what a repository is known to hold."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.denied.git_verdicts import GitVerdict, judge_git
from agentcli.permissions.denied.history import Held
from agentcli.permissions.git_config import GitFacts
from agentcli.permissions.paths import Workspace
from tests.tables import each_row

BLOB = "abcdef0123456789abcdef0123456789abcdef01"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder that looks like a repository, with a folder beside the denied file."""
    work = tmp_path / "work"
    for name in (".git/config", "src/a.py", "secrets/key.txt"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")
    (work / ".git/hooks").mkdir()
    return work


def judged(
    command: str, work: Path, *, tracked: bool = True, workspace: Workspace | None = None, **held: object
) -> GitVerdict:
    names, blobs = frozenset({"secrets/key.txt", "secrets/other"}), frozenset({BLOB})
    known = replace(Held(work, (), names, blobs), **held)  # type: ignore[arg-type]
    nothing = Held(work / "src", ())
    workspace = workspace or Workspace(work, (work,), work.parent, git=lambda _: GitFacts())
    return judge_git(shlex.split(command), [work], [nothing, known], tracked, workspace)


def shown(command: str, work: Path, **more: object) -> str:
    found = judged(command, work, **more)  # type: ignore[arg-type]
    return f"{found.shows} {found.name}".strip() + (" masked" if found.masked else "")


@each_row(
    ("command", "verdict"),
    [
        ("git", "nothing"),
        ("git -C src", "nothing"),
        ("git --no-pager", "nothing"),
        ("git --version", "nothing"),
        ("git status", "nothing"),
        ("git -C src -P --no-optional-locks status", "nothing"),
        ("git -c color.ui=never status", "nothing"),
        ("git -c COLOR.UI=never status", "nothing"),
        ("git -c alias.x=y status", "unknown secrets/key.txt masked"),
        ("git --git-dir=x status", "unknown secrets/key.txt masked"),
        ("git -C", "unknown secrets/key.txt masked"),
        ("git -c", "unknown secrets/key.txt masked"),
        ("git archive HEAD", "unknown secrets/key.txt masked"),
        ("git mine", "unknown secrets/key.txt masked"),
        ("git log --oneline", "nothing"),
        ("git show", "denied secrets/key.txt masked"),
        ("git show --stat", "nothing"),
        ("git show -- src", "nothing"),
        ("git -C src show -- .", "nothing"),
        ("git -C src show -- ..", "denied secrets/key.txt masked"),
        ("git show -- secrets/other", "denied secrets/other masked"),
        ("git show -- . ':!secrets/key.txt'", "denied secrets/other masked"),
        ("git show -- . ':!secrets'", "nothing"),
        ("git -C src show -- .. ':!secrets'", "denied secrets/key.txt masked"),
        ("git -C src show -- .. ':!/secrets'", "nothing"),
        ("git log -p --follow src/a.py", "denied secrets/key.txt masked"),
        ("git log -p src/a.py", "nothing"),
        (f"git cat-file -p {BLOB}", "denied secrets/key.txt masked"),
        (f"git cat-file -p {BLOB[:4]}", "denied secrets/key.txt masked"),
        (f"git cat-file -p {BLOB[:10].upper()}", "denied secrets/key.txt masked"),
        (f"git cat-file -p {BLOB[:3]}", "nothing"),
        ("git cat-file -p 1234567", "nothing"),
        ("git cat-file -p HEAD", "nothing"),
        ("git show HEAD:secrets/key.txt", "denied secrets/key.txt masked"),
        ("git show HEAD:./secrets/other", "denied secrets/other masked"),
        ("git show HEAD:src/a.py", "nothing"),
        ("git -C src show HEAD:../secrets/other", "denied secrets/other masked"),
        ("git -C secrets show HEAD:other", "denied secrets/other masked"),
    ],
)
def test_git_shows_what_its_words_reach(command: str, verdict: str, work: Path) -> None:
    assert shown(command, work) == verdict


@each_row(
    ("command", "verdict"),
    [
        ("git status", "nothing"),
        ("git log --oneline", "nothing"),
        ("git show", "denied (its history could not be looked through) masked"),
        ("git show -- src", "nothing"),
        ("git cat-file -p 1234567", "denied 1234567 masked"),
        ("git cat-file -p HEAD", "denied (its history could not be looked through) masked"),
        ("git show HEAD:src/a.py", "denied src/a.py masked"),
        ("git show HEAD -- src", "nothing"),
        ("git archive HEAD", "unknown masked"),
    ],
)
def test_a_history_that_could_not_be_looked_through_may_hold_anything(command: str, verdict: str, work: Path) -> None:
    assert shown(command, work, known=False, names=frozenset(), blobs=frozenset()) == verdict


@each_row(
    ("command", "verdict"),
    [
        ("git show -- src", "denied secrets/key.txt masked"),
        ("git show HEAD:src/a.py", "denied secrets/key.txt masked"),
        ("git cat-file -p HEAD", "denied secrets/key.txt masked"),
        ("git log --oneline", "nothing"),
        ("git status", "nothing"),
    ],
)
def test_where_git_shows_other_objects_than_it_names_all_of_them_count(command: str, verdict: str, work: Path) -> None:
    assert shown(command, work, replaced=True) == verdict


@each_row(
    "command",
    [
        *("git push", "git push origin main", "git push ./x main", "git push file:///x main", "git push -u origin src"),
        *("git fetch", "git fetch --depth 1 origin", "git pull ../x", "git remote add x ../x", "git rm -r src"),
        *("git mv src/a.py src/b.py", "git remote set-url x ../x", "git worktree remove --force x"),
    ],
)
def test_what_git_sends_and_takes_shows_nothing(command: str, work: Path) -> None:
    assert shown(command, work) == "nothing"


@each_row(
    ("command", "hidden"),
    [
        ("git add .", True),
        ("git add -A", True),
        ("git add", True),
        ("git add src/a.py", False),
        ("git add src", True),
        ("git add src/a.py src", True),
        ("git add -f src/a.py", True),
        ("git add -- src/a.py", False),
        ("git commit -m x", False),
        ("git commit -am x", True),
        ("git commit --all -m x", True),
        ("git commit -m x src/a.py", True),
        ("git commit --amend --no-edit", False),
        ("git commit -e", True),
        ("git stash", True),
        ("git stash list", False),
        ("git branch x", False),
        ("git checkout -b x", False),
        ("git tag v1", False),
    ],
)
def test_files_that_the_index_lacks_are_hidden_from_what_may_take_them_up(
    command: str, hidden: bool, work: Path
) -> None:
    found = judged(command, work, tracked=False)
    assert (found.shows, found.masked) == ("nothing", hidden)
    assert not judged(command, work).masked, "if they are in the index it holds them already"


def test_files_are_hidden_from_what_a_repository_starts(work: Path) -> None:
    starts = Workspace(work, (work,), work.parent, git=lambda _: GitFacts("git starts x"))
    for command in ("git status", "git show -- src", "git commit -m x", "git branch x"):
        assert shown(command, work, workspace=starts) == "nothing masked"
    (work / ".git/hooks/pre-commit").write_text("")
    assert shown("git commit -m x", work) == "nothing masked"
    assert shown("git branch x", work) == "nothing"


def test_a_command_whose_options_show_more_is_not_known(work: Path) -> None:
    assert [shown(command, work) for command in ("git add -p", "git commit -v", "git stash -p", "git rebase --show-current-patch")] == [
        "unknown secrets/key.txt masked", "nothing", "unknown secrets/key.txt masked", "unknown secrets/key.txt masked",
    ]  # fmt: skip


@each_row(
    "command",
    ["git status -v", "git status -v -- src", "git commit --dry-run -v", "git commit -vv", "git commit -v -v"],
)
def test_pathspecs_do_not_limit_what_a_status_shows(command: str, work: Path) -> None:
    found = judged(command, work)
    assert found.shows != "nothing"
    assert found.held
    assert not found.exclusions


def test_where_nothing_is_denied_git_shows_nothing_denied(work: Path) -> None:
    nothing = Held(work, ())
    workspace = Workspace(work, (work,), work.parent, git=lambda _: GitFacts())
    for command in ("git show", "git cat-file -p abcdef", "git add -A", "git show HEAD:x"):
        assert judge_git(command.split(), [work], [nothing], True, workspace).shows == "nothing"
    assert judge_git(["git", "archive", "HEAD"], [work], [nothing], True, workspace) == GitVerdict("unknown")

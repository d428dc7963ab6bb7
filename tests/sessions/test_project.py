from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentcli.sessions.info import SessionInfo
from agentcli.sessions.project import PROJECT, normalised, read_repository, remember, root_commit
from agentcli.sessions.store import Store
from tests.sessions.bodies import user
from tests.tables import each_row

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, remote: str = "", content: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a.txt").write_text(content or str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def started(store: Store, directory: Path, prompt: str = "hello") -> SessionInfo:
    """A session that was led in a folder; what is remembered of the repository stands when this returns."""
    session = store.create(directory)
    session.append(user(prompt))
    session.close()
    wait_until_remembered()
    return session.info


def wait_until_remembered() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def listed(store: Store, directory: Path) -> list[str]:
    return [info.id for info in store.list(store.project(directory))]


def test_a_repository_that_was_moved_has_its_sessions(store: Store, tmp_path: Path) -> None:
    old = repository(tmp_path / "old")
    first = started(store, old)
    old.rename(tmp_path / "new")
    project = store.project(tmp_path / "new")
    assert [info.id for info in store.list(project)] == [first.id]
    assert store.find(first.id[:-2], project).id == first.id
    newest = store.newest(project)
    assert newest is not None
    assert newest.id == first.id
    place = project.elsewhere(newest)
    assert place is not None
    assert (place.directory, place.gone) == (str(old), True)
    second = started(store, tmp_path / "new")
    assert second.project_id != first.project_id
    assert listed(store, tmp_path / "new") == [second.id, first.id]


def test_the_newest_session_may_be_one_of_before_a_move(store: Store, tmp_path: Path) -> None:
    old = repository(tmp_path / "old")
    first = started(store, old)
    old.rename(tmp_path / "new")
    started(store, tmp_path / "new")
    session = store.open(first.project_id, first.id)
    session.append(user("once more"))
    session.close()
    newest = store.newest(store.project(tmp_path / "new"))
    assert newest is not None
    assert newest.id == first.id


def test_worktrees_are_one_project_and_each_goes_on_with_its_own(store: Store, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "feature"))
    first = started(store, main)
    assert listed(store, tmp_path / "feature") == [first.id]
    lent = store.newest(store.project(tmp_path / "feature"))
    assert lent is not None
    assert lent.id == first.id  # nothing was said here yet
    second = started(store, tmp_path / "feature")
    started(store, main, "later")
    project = store.project(tmp_path / "feature")
    assert len(store.list(project)) == 3
    newest = store.newest(project)
    assert newest is not None
    assert newest.id == second.id
    place = project.elsewhere(first)
    assert place is not None
    assert (place.directory, place.gone) == (str(main), False)


def test_a_worktree_shares_the_folder_of_its_repository(store: Store, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    session = started(store, tmp_path / "tree")
    assert session.project_id == store.project_id(main)
    assert session.directory == str(tmp_path / "tree")
    assert len([place for place in store.root.iterdir() if place.is_dir() and place.name[0] != "."]) == 1


def test_a_git_file_that_names_another_repository_makes_no_worktree_of_it(store: Store, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text((tmp_path / "tree" / ".git").read_text())
    assert store.project_id(stranger) != store.project_id(main)
    assert store.project_id(tmp_path / "tree") == store.project_id(main)


def test_sessions_of_a_worktree_that_was_removed_stay_with_the_repository(store: Store, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "feature"))
    first = started(store, tmp_path / "feature")
    git(main, "worktree", "remove", str(tmp_path / "feature"))
    assert listed(store, main) == [first.id]


def test_clones_are_one_project_and_forks_are_not(store: Store, tmp_path: Path) -> None:
    one = repository(tmp_path / "one", "https://me:secret@example.org/team/code.git")
    shutil.copytree(one, tmp_path / "two")
    git(tmp_path / "two", "remote", "set-url", "origin", "git@example.org:team/code")
    shutil.copytree(one, tmp_path / "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "git@example.org:other/code")
    first = started(store, one)
    assert listed(store, tmp_path / "two") == [first.id]
    assert listed(store, tmp_path / "fork") == []
    held = (store.root / first.project_id / PROJECT).read_text()
    assert "secret" not in held
    assert json.loads(held)["repositories"][-1]["remote"] == "example.org/team/code"


def test_repositories_that_share_nothing_stay_apart(store: Store, tmp_path: Path) -> None:
    started(store, repository(tmp_path / "one"))
    other = repository(tmp_path / "other")
    shutil.rmtree(tmp_path / "one")
    assert listed(store, other) == []


def test_another_repository_at_the_old_path_does_not_take_the_sessions_away(store: Store, tmp_path: Path) -> None:
    old = repository(tmp_path / "code", content="first")
    first = started(store, old)
    old.rename(tmp_path / "moved")
    second = started(store, repository(tmp_path / "code", content="second"))
    assert first.id in listed(store, tmp_path / "moved")
    assert second.id in listed(store, tmp_path / "code")


def test_a_store_that_remembers_no_repository_is_read_as_before(store: Store, tmp_path: Path) -> None:
    main = repository(tmp_path / "main", "https://example.org/code")
    git(main, "worktree", "add", "-q", str(tmp_path / "feature"))
    (main / "src").mkdir()
    first = started(store, main / "src")
    remembered = store.root / first.project_id / PROJECT
    remembered.unlink()
    assert listed(store, main) == [first.id]
    assert listed(store, tmp_path / "feature") == [first.id]
    assert not remembered.exists()  # looking changes nothing
    store.open(first.project_id, first.id).close()
    wait_until_remembered()
    assert remembered.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"repositories": 3}', '{"repositories": [{"common": 1}]}', "\0" * 90])
def test_what_is_remembered_may_be_damaged(store: Store, tmp_path: Path, text: str) -> None:
    first = started(store, repository(tmp_path / "one"))
    (store.root / first.project_id / PROJECT).write_text(text)
    assert listed(store, tmp_path / "one") == [first.id]
    assert listed(store, repository(tmp_path / "other")) == []


def test_git_is_asked_for_the_first_commit_once_and_only_where_it_decides(store: Store, tmp_path: Path) -> None:
    started(store, repository(tmp_path / "one"))
    other = repository(tmp_path / "other")
    store.project(other)
    [held] = [
        json.loads(path.read_text()) for path in store.root.glob(f"*/{PROJECT}") if path.parent.name.startswith("other")
    ]
    assert held["repositories"][-1]["root_commit"] == git(other, "rev-list", "--max-parents=0", "HEAD")
    with_remote = repository(tmp_path / "third", "https://example.org/third")
    shutil.rmtree(store.root)
    started(store, repository(tmp_path / "fourth", "https://example.org/fourth"))
    store.project(with_remote)
    assert not [path for path in store.root.iterdir() if path.name.startswith("third")]


def test_a_repository_without_commits_and_a_shallow_one_have_no_first_commit(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    assert root_commit(tmp_path / "empty") is None
    source = repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{source}", "shallow")
    assert root_commit(tmp_path / "shallow") == ""


@each_row("content", ["", "gitdir:", "gitdir: /nowhere/at/all", "nonsense", "\0"])
def test_a_git_file_that_leads_nowhere_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert read_repository(tmp_path) is None


@each_row(
    "url",
    [
        "https://example.org/team/code.git",
        "https://me:secret@Example.org/team/code",
        "http://example.org:8080/team/code/",
        "ssh://git@example.org:22/team/code.git",
        "git@example.org:team/code.git",
        "example.org:/team/code",
        "git+ssh://git@example.org/team/code",
    ],
)
def test_one_remote_is_written_in_many_ways(url: str) -> None:
    assert normalised(url) == "example.org/team/code"


def test_a_remote_may_be_a_path(tmp_path: Path) -> None:
    assert normalised("/srv/code.git") == "/srv/code"
    assert normalised("../code") == "../code"
    assert normalised("file:///srv/code.git") == "/srv/code"


def test_what_several_processes_remember_at_once_is_all_kept(tmp_path: Path) -> None:
    tops = [repository(tmp_path / f"{n}", f"https://example.org/{n}") for n in range(6)]
    with ThreadPoolExecutor(len(tops)) as pool:
        list(pool.map(lambda top: remember(tmp_path / "kept", top), tops))
    held = json.loads((tmp_path / "kept" / PROJECT).read_text())["repositories"]
    assert sorted(one["remote"] for one in held) == [f"example.org/{n}" for n in range(6)]

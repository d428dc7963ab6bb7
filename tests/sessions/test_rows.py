"""Rows of a table of sessions, which read less than a summary and say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentcli.core.record import Title
from agentcli.sessions.info import Parent, SessionInfo
from agentcli.sessions.rows import INDEX, Row, row, row_of, rows_in
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import glance
from tests.counted import counted
from tests.e2e.program import ROOT
from tests.sessions.bodies import reply, user
from tests.tables import each_row


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    session = store.create(tmp_path, model="anthropic/claude-sonnet-5", parent=Parent("20260101-000000-0000000", 1))
    session.append(user("a question"))
    session.append(reply("an answer"))
    session.close()
    return store.folder(session.info)


def test_a_row_says_what_the_summary_says(folder: Path) -> None:
    info = glance(folder)
    assert info is not None
    assert row(str(folder)) == row_of(info)
    assert (row_of(info).title, row_of(info).parent) == ("a question", "20260101-000000-0000000")


def test_a_row_has_the_name_in_place_of_the_title_and_newer_records(store: Store, folder: Path) -> None:
    before = (folder / "session.json").read_bytes()
    session = store.open(folder.parent.name, folder.name)
    session.append(Title(name="mine"))
    session.close()
    (folder / "session.json").write_bytes(before)  # as a killed process leaves it
    found = row(str(folder))
    assert found is not None
    assert (found.title, found.records) == ("mine", session.info.records)


@each_row(
    "damage",
    [
        {"title": 1},
        {"records": "3"},
        {"time": []},
        {"time": {"updated": 5}},
        {"parent": "x"},
        {"shelf": None},
        {"model": {}},
        {"cost": "a lot"},
        [],
        "cut",
    ],
)
def test_whatever_is_in_a_damaged_summary_the_row_is_that_of_the_whole_one(
    store: Store, tmp_path: Path, damage
) -> None:
    session = store.create(tmp_path, model="anthropic/claude-sonnet-5")
    session.append(user("a question"))
    session.close()
    path = store.folder(session.info) / "session.json"
    raw = json.loads(path.read_bytes())
    path.write_bytes(b'{"schema": 1, "id' if damage == "cut" else json.dumps(raw | damage if damage else []).encode())
    info = glance(path.parent)
    assert info is not None
    assert row(str(path.parent)) == row_of(info)


def test_a_copied_folder_counts_by_its_place_and_one_without_records_not_at_all(store: Store, folder: Path) -> None:
    os.rename(folder, folder.with_name("another-id"))
    (folder / "records").mkdir(parents=True)
    assert [row.id for row in store.rows()] == ["another-id"]
    assert row(str(folder)) is None


def test_rows_are_sorted_like_the_list(store: Store, tmp_path: Path) -> None:
    infos: list[SessionInfo] = []
    for n in range(5):
        session = store.create(tmp_path)
        session.append(user(f"question {n}"))
        session.close()
        infos.append(session.info)
    rows = store.rows(infos[0].project_id)
    assert [each.id for each in rows] == [info.id for info in store.list(infos[0].project_id)]
    assert all(isinstance(each, Row) for each in rows)


MANY = 33


@pytest.fixture
def project(store: Store, tmp_path: Path) -> Path:
    """The folder of a project with many sessions of last year."""
    for n in range(MANY):
        session = store.create(tmp_path)
        session.append(user(f"question {n}"))
        session.close()
        age(store.folder(session.info))
    return store.folder(session.info).parent


def age(folder: Path) -> None:
    """Make a session as old as one of last year."""
    for name in ("records", "session.json"):
        os.utime(folder / name, (1.7e9, 1.7e9))


def newest(store: Store, project: Path) -> SessionInfo:
    return store.list(project.name)[0]


def listed(store: Store, project: Path) -> None:
    """Rows are those of the summaries, whatever the index says."""
    assert list(store.rows(project.name)) == [row_of(info) for info in store.list(project.name)]


def test_unchanged_sessions_are_not_read_again(store: Store, project: Path) -> None:
    listed(store, project)
    with counted(row) as calls:
        assert len(rows_in(str(project))) == MANY
    assert not calls
    assert (project / INDEX).stat().st_mode & 0o777 == 0o600


def test_sessions_that_have_just_changed_are_read_each_time(store: Store, tmp_path: Path, project: Path) -> None:
    for folder in project.iterdir():
        os.utime(folder / "session.json")
    listed(store, project)
    assert not (project / INDEX).exists()


def test_a_row_changes_with_its_session(store: Store, project: Path) -> None:
    listed(store, project)
    store.rename(newest(store, project), "another name")
    listed(store, project)
    assert "another name" in {row.title for row in store.rows()}


def test_a_deleted_session_leaves_no_row_and_comes_back(store: Store, project: Path) -> None:
    listed(store, project)
    info = newest(store, project)
    store.delete(info)
    assert not (project / INDEX).exists()
    listed(store, project)
    (project / store.list()[0].id).rename(project.parent / "moved elsewhere")
    listed(store, project)
    store.restore(info.id)
    listed(store, project)
    assert len(store.rows()) == MANY - 1


def test_a_damaged_index_is_made_anew(store: Store, project: Path) -> None:
    listed(store, project)
    index = project / INDEX
    whole = index.read_bytes()
    changed = whole.replace(b"question 3", b"question 4")
    for damaged in (b"", b"{}", b"a\n{}", whole[:-20], changed, b"\xff" * 100):
        index.write_bytes(damaged)
        listed(store, project)
        assert index.read_bytes() == whole
    index.unlink()
    index.mkdir()
    listed(store, project)


LISTING = """
import sys
from agentcli.sessions.rows import INDEX, rows_in
from pathlib import Path
while True:
    Path(sys.argv[1], INDEX).unlink(missing_ok=True)
    if len(rows_in(sys.argv[1])) != int(sys.argv[2]):
        sys.exit("not all")
    print(flush=True)
"""


@pytest.mark.full
def test_processes_that_list_at_once_and_are_killed_harm_nobody(store: Store, project: Path) -> None:
    command = [sys.executable, "-c", LISTING, str(project), str(MANY)]
    for _ in range(5):
        with ExitStack() as ending:
            running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(3)]
            for process in running:
                ending.enter_context(process)
                assert process.stdout is not None
                assert process.stdout.readline() == b"\n"
            for process in running:
                listed(store, project)
                process.kill()
                listed(store, project)
    (project / INDEX).unlink(missing_ok=True)
    listed(store, project)
    assert {entry.name for entry in project.iterdir() if not entry.is_dir()} == {INDEX}

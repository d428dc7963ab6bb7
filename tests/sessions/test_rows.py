"""Rows of a table of sessions, which read less than a summary and say the same."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentcli.core.record import Title
from agentcli.sessions.info import Parent, SessionInfo
from agentcli.sessions.rows import Row, row, row_of
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import glance
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

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentcli.sessions.checkpoints.objects import POOL
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.retention import size_on_disk, sweep
from agentcli.sessions.settings import Retention
from agentcli.sessions.storage.writer import Lock
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, user


@pytest.fixture
def infos(store: Store, tmp_path: Path) -> list[SessionInfo]:
    """Five sessions, the oldest first."""
    return [created(store, tmp_path) for _ in range(5)]


def created(store: Store, tmp_path: Path, size: int = 1) -> SessionInfo:
    session = store.create(tmp_path)
    session.append(user("hello"))
    session.append(reply("x" * size))
    session.close()
    return session.info


def left(store: Store) -> set[str]:
    return {info.id for info in store.list()}


def test_nothing_is_swept_by_default(store: Store, infos: list[SessionInfo]) -> None:
    assert sweep(store, Retention(), datetime.now(UTC) + timedelta(days=9_999)).trashed == ()
    assert left(store) == {info.id for info in infos}


def test_the_oldest_beyond_a_count_go_to_the_trash(store: Store, infos: list[SessionInfo]) -> None:
    swept = sweep(store, Retention(count=2))
    assert [info.id for info in swept.trashed] == [info.id for info in infos[:3]]
    assert left(store) == {infos[3].id, infos[4].id}
    assert store.restore(infos[0].id).id == infos[0].id


def test_sessions_older_than_so_many_days_go(store: Store, infos: list[SessionInfo]) -> None:
    now = datetime.now(UTC)
    assert sweep(store, Retention(days=1), now + timedelta(hours=23)).trashed == ()
    assert len(sweep(store, Retention(days=1), now + timedelta(hours=25)).trashed) == 5


def test_sessions_beyond_a_size_go(store: Store, infos: list[SessionInfo], tmp_path: Path) -> None:
    large = created(store, tmp_path, 200_000)
    limit = size_on_disk(store.folder(large)) + size_on_disk(store.folder(infos[4]))
    swept = sweep(store, Retention(total_bytes=limit))
    assert [info.id for info in swept.trashed] == [info.id for info in infos[:4]]


def test_open_and_pinned_sessions_are_never_swept(store: Store, infos: list[SessionInfo]) -> None:
    store.pin(infos[0])
    session = store.open(infos[1].project_id, infos[1].id)
    swept = sweep(store, Retention(count=1, days=1), datetime.now(UTC) + timedelta(days=30))
    assert {info.id for info in swept.trashed} == {info.id for info in infos[2:]}
    session.close()
    store.pin(infos[0], pinned=False)
    assert len(sweep(store, Retention(days=1), datetime.now(UTC) + timedelta(days=30)).trashed) == 2


def test_the_trash_and_what_only_it_named_go_at_last(store: Store, infos: list[SessionInfo], tmp_path: Path) -> None:
    session = store.open(infos[0].project_id, infos[0].id)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("a" * 5_000)
    store.checkpoints(session, [tmp_path / "code"]).before_command()
    session.close()
    store.delete(infos[0])
    pool = store.root / infos[0].project_id / POOL
    assert sweep(store, Retention(trash_days=1)).removed == ()
    assert len(list(pool.glob("??/*"))) == 1
    os.utime(store.trash.folder / infos[0].project_id / infos[0].id, (1, 1))
    swept = sweep(store, Retention(trash_days=1))
    assert swept.removed == (infos[0].id,)
    assert list(pool.glob("??/*")) == []


def test_a_session_that_is_still_being_built_is_not_swept(store: Store, infos: list[SessionInfo]) -> None:
    building = store.root / infos[0].project_id / ".incoming-1"
    building.mkdir()
    lock = Lock(building / "lock")
    os.utime(building, (1, 1))
    assert sweep(store, Retention()).leftovers == ()
    assert building.exists()
    lock.release()
    assert sweep(store, Retention()).leftovers == (building,)
    assert not building.exists()


def test_how_old_something_unfinished_must_be_is_set(store: Store, infos: list[SessionInfo]) -> None:
    stray = store.root / infos[0].project_id / ".incoming-1"
    stray.mkdir()
    hour_ago = time.time() - 3_600
    os.utime(stray, (hour_ago, hour_ago))
    assert sweep(store, Retention(leftover_days=0)).leftovers == ()
    assert sweep(store, Retention(leftover_days=0.1)).leftovers == ()
    assert sweep(store, Retention(leftover_days=0.01)).leftovers == (stray,)


def test_a_session_that_never_arrived_is_swept(store: Store, infos: list[SessionInfo]) -> None:
    stray = store.root / infos[0].project_id / ".incoming-1"
    (stray / "records").mkdir(parents=True)
    sweep(store, Retention())
    assert stray.exists()
    os.utime(stray, (1, 1))
    sweep(store, Retention())
    assert not stray.exists()

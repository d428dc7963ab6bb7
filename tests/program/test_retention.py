from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.retention import DAY, SWEPT, due, sweep_later, sweep_now
from agentcli.sessions.settings import Retention
from tests.sessions.bodies import user


def program(tmp_path: Path, *settings: str) -> Program:
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    made = program_of(Options(cwd=str(tmp_path), settings=settings), {**folders, "HOME": str(tmp_path)})
    for _ in range(3):
        session = made.store.create(tmp_path)
        session.append(user("hello"))
        session.close()
    return made


def test_a_sweep_keeps_what_retention_keeps_and_notes_its_time(tmp_path: Path) -> None:
    made = program(tmp_path, "retention.count=1")
    stamp = made.dirs.state / SWEPT
    assert due(stamp)
    sweep_now(made)
    assert len(made.store.list()) == 1
    assert not due(stamp)
    os.utime(stamp, (time.time() - DAY - 1,) * 2)
    assert due(stamp)
    os.utime(stamp, (time.time() + DAY,) * 2)
    assert due(stamp)


def test_a_session_that_is_open_or_pinned_is_never_swept(tmp_path: Path) -> None:
    made = program(tmp_path, "retention.days=0.0000001")
    pinned, open_, swept = made.store.list()
    made.store.pin(pinned)
    session = made.store.open(open_.project_id, open_.id)
    sweep_now(made)
    assert {info.id for info in made.store.list()} == {pinned.id, open_.id}
    assert [info.id for info in made.store.trashed()] == [swept.id]
    session.close()


def test_it_happens_in_the_background_and_once_a_day(tmp_path: Path) -> None:
    made = program(tmp_path, "retention.count=2")
    sweep_later(made, after=0)
    ends = time.monotonic() + 20
    while not made.store.trashed() and time.monotonic() < ends:
        time.sleep(0.01)
    assert len(made.store.list()) == 2
    again = program(tmp_path, "retention.count=2")
    before = set(threading.enumerate())
    sweep_later(again, after=0)
    assert set(threading.enumerate()) <= before
    assert len(again.store.list()) == 5


def test_nothing_is_swept_or_noted_where_nothing_is_wanted(tmp_path: Path) -> None:
    made = program(tmp_path)
    made.config = made.config.changed("retention.leftover_days", 0)
    assert not made.config[Retention].wanted
    sweep_later(made)
    assert not (made.dirs.state / SWEPT).exists()


def test_only_what_was_never_finished_goes_by_default(tmp_path: Path) -> None:
    made = program(tmp_path)
    stray = made.store.root / made.project.id / ".incoming-1"
    stray.mkdir()
    os.utime(stray, (1, 1))
    sweep_now(made)
    assert len(made.store.list()) == 3
    assert not stray.exists()

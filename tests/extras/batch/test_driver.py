"""The driver of a batch, with agents that are played."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.errors import InputError, StoreError
from agentcli.core.message import Message, Text
from agentcli.extras.batch.driver import CAP, STOP, Driver
from agentcli.extras.batch.ledger import Ledger, Row, State, fold, rows
from agentcli.extras.batch.plan import Plan
from agentcli.extras.batch.results import load, result_lines, summary, write_report
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work
from agentcli.sessions.store import Store
from agentcli.system.paths import app_dirs
from tests.e2e.program import ROOT

Ends = Callable[[Work], Row]


class Played:
    """Agents that end as `ends` says; it knows how many worked at once, and with which limits."""

    def __init__(self, ends: Ends) -> None:
        self.ends, self.now, self.most = ends, 0, 0
        self.limits: list[float | None] = []
        self.started: list[tuple[str, int]] = []

    async def __call__(self, work: Work, interrupt: asyncio.Event, write: Callable[[Row], Row]) -> Row:
        self.now += 1
        self.most = max(self.most, self.now)
        self.limits.append(work.limit)
        self.started.append((work.task.id, work.start.attempt))
        row = replace(work.first_row, session=work.token)
        write(row)
        await asyncio.sleep(0)
        last = self.ends(work)
        self.now -= 1
        if interrupt.is_set():
            return write(replace(row, state="stopped"))
        own = {name: getattr(row, name) for name in ("id", "attempt", "token", "session", "round")}
        return write(replace(last, **own))


def ended(state: State, **more: object) -> Ends:
    return lambda work: Row("", 0, "", state, **more)  # type: ignore[arg-type]


def tasks(count: int, **more: object) -> list[Task]:
    return [Task(f"t{n}", "do it", "/", **more) for n in range(count)]  # type: ignore[arg-type]


def driver(out: Path, played: Played, found: list[Task], **plan: object) -> Driver:
    return Driver(
        Plan("b", isolation="none", **plan),  # type: ignore[arg-type]
        found,
        out,
        app_dirs({"HOME": str(out)}),
        attempt=played,
        hold=lambda times: 0.0,
    )


def run(out: Path, played: Played, found: list[Task], **plan: object) -> int:
    return asyncio.run(driver(out, played, found, **plan).run())


def test_all_tasks_pass_and_no_more_than_the_workers_work_at_once(tmp_path: Path) -> None:
    played = Played(ended("passed", cost=0.01))
    assert run(tmp_path / "out", played, tasks(20), workers=3) == 0
    assert (played.most, len(played.started)) == (3, 20)
    assert run(tmp_path / "out", again := Played(ended("passed")), tasks(20)) == 0
    assert again.started == []
    batch = load(tmp_path / "out")
    assert summary(batch) == "20/20 · 20 passed · $0.20"
    assert "20 passed" in write_report(batch).read_text()
    assert {line["state"] for line in result_lines(batch)} == {"passed"}


def test_another_attempt_follows_until_one_passes(tmp_path: Path) -> None:
    played = Played(lambda work: Row("", 0, "", "passed" if work.start.attempt == 3 else "failed"))
    assert run(tmp_path / "out", played, tasks(2, attempts=3, check="x")) == 0
    assert sorted(played.started) == [(f"t{n}", attempt) for n in (0, 1) for attempt in (1, 2, 3)]
    assert run(tmp_path / "other", Played(ended("failed")), tasks(2, attempts=2, check="x")) == 1


def test_what_is_asked_for_again_is_started_once(tmp_path: Path) -> None:
    assert run(tmp_path / "out", Played(ended("failed")), tasks(3)) == 1
    played = Played(ended("failed"))
    assert run(tmp_path / "out", played, tasks(3), retry=("failed",)) == 1
    assert played.started == [("t0", 2), ("t1", 2), ("t2", 2)]


def test_the_cap_is_never_passed_and_the_rest_runs_with_a_higher_one(tmp_path: Path) -> None:
    played = Played(ended("passed", cost=0.1))
    assert run(tmp_path / "out", played, tasks(10, max_cost=0.1), workers=4, cap=0.45) == CAP
    assert load(tmp_path / "out").cost == pytest.approx(0.4)
    assert run(tmp_path / "out", played, tasks(10, max_cost=0.1), workers=4, cap=2.0) == 0
    assert len(played.started) == 10


def test_without_a_limit_of_its_own_a_task_gets_a_part_of_the_cap(tmp_path: Path) -> None:
    played = Played(ended("passed"))
    run(tmp_path / "out", played, tasks(2), cap=10.0)
    assert played.limits == [0.5, 0.5]


def test_a_missing_key_stops_the_batch_after_one_task(tmp_path: Path) -> None:
    played = Played(ended("held", why="No API key is set.", exit=41))
    assert run(tmp_path / "out", played, tasks(20), workers=1) == 41
    assert len(played.started) == 1
    assert run(tmp_path / "out", Played(ended("passed")), tasks(20)) == 0


def test_a_file_stops_a_batch_and_it_goes_on_later(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def ends(work: Work) -> Row:
        if work.task.id == "t2":
            (out / STOP).write_text("")
        return Row("", 0, "", "passed")

    assert run(out, Played(ends), tasks(30), workers=2) == 130
    played = Played(ended("passed"))
    assert run(out, played, tasks(30)) == 0
    assert 0 < len(played.started) < 30


def test_a_second_driver_and_a_changed_task_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"

    async def both() -> None:
        first = asyncio.create_task(driver(out, Played(ended("passed")), tasks(1)).run())
        await asyncio.sleep(0)
        with pytest.raises(StoreError, match="already"):
            await driver(out, Played(ended("passed")), tasks(1)).run()
        assert await first == 0

    asyncio.run(both())
    changed = [replace(tasks(1)[0], prompt="something else")]
    with pytest.raises(
        InputError, match="t0, or an option that applies to it such as --check or -m, has changed since"
    ):
        run(out, Played(ended("passed")), changed)
    played = Played(ended("passed"))
    assert run(out, played, changed, retry=("t0",)) == 0
    assert played.started == [("t0", 2)]


def test_a_crash_of_the_driver_is_no_loss_of_the_task(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "out")
    (tmp_path / "out").mkdir()
    for token in "abcde":
        ledger.write(Row("t0", 1, token, "running", session="s"))
    played = Played(lambda work: Row("", 0, "", "passed" if work.start.goes_on and not work.start.tries else "failed"))
    assert run(tmp_path / "out", played, tasks(1)) == 0


def test_a_task_that_is_done_again_replaces_its_result(tmp_path: Path) -> None:
    assert run(tmp_path / "out", Played(ended("passed", text="old")), tasks(1)) == 0
    assert run(tmp_path / "out", Played(ended("failed", text="new")), tasks(1), retry=("t0",)) == 1
    assert [line["text"] for line in result_lines(load(tmp_path / "out"))] == ["new"]


def test_shards_share_the_cap_and_run_beside_one_another(tmp_path: Path) -> None:
    async def both() -> list[object]:
        played = Played(ended("passed", cost=0.1))
        parts = [
            driver(tmp_path / "out", played, tasks(12, max_cost=0.1), shard=(number, 2), cap=0.8) for number in (0, 1)
        ]
        same = driver(tmp_path / "out", played, tasks(12, max_cost=0.1), shard=(0, 2))
        first, second, refused = await asyncio.gather(*(part.run() for part in (*parts, same)), return_exceptions=True)
        assert isinstance(refused, StoreError)
        return [first, second]

    assert asyncio.run(both()) == [CAP, CAP]
    batch = load(tmp_path / "out")
    assert (len(batch.states), batch.cost) == (8, pytest.approx(0.8))
    assert run(tmp_path / "out", Played(ended("passed")), tasks(12, max_cost=0.2)) == 0


def test_a_wish_to_stop_reaches_every_shard_and_no_later_run(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def ends(work: Work) -> Row:
        (out / STOP).write_text("")
        return Row("", 0, "", "passed")

    async def both() -> list[int]:
        parts = [driver(out, Played(ends), tasks(40), shard=(number, 2), workers=1) for number in (0, 1)]
        return list(await asyncio.gather(*(part.run() for part in parts)))

    assert asyncio.run(both()) == [130, 130]
    assert run(out, Played(ended("passed")), tasks(40)) == 0


class _Zombie(Played):
    """Agents whose former start, which was thought dead, tells its result first."""

    async def __call__(self, work: Work, interrupt: asyncio.Event, write: Callable[[Row], Row]) -> Row:
        write(replace(work.first_row, token="thought-dead", state="failed", cost=0.01))
        return await super().__call__(work, interrupt, write)


def test_a_second_result_of_an_attempt_is_noted_as_a_duplicate(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(out, _Zombie(ended("passed", cost=0.02)), tasks(1)) == 1
    assert [row.state for row in rows(out)] == ["failed", "running", "duplicate"]
    [state] = fold(rows(out)).values()
    assert (state.state, state.newest.token, round(state.cost, 2)) == ("failed", "thought-dead", 0.03)


def test_what_a_running_task_has_cost_is_shown_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    assert run(out, Played(ended("passed", cost=0.01)), tasks(1)) == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    session = Store(app_dirs().sessions).create(tmp_path, session_id="s-running")
    session.append(Message("user", (Text("do it"),), 1))
    session.append(Message("assistant", (Text("Wait."),), 1, cost=0.07))
    session.close()
    Ledger(out).write(Row("t1", 1, "x", "running", session="s-running"))
    assert load(out).cost == pytest.approx(0.08)


# A driver that is killed at any row of its ledger, whole or torn, costs no request twice and leaves no task final twice.


def test_a_driver_may_be_killed_at_every_row(tmp_path: Path) -> None:
    # In a process with one thread: it forks.
    command = [sys.executable, "-m", "tests.extras.batch.killed_drivers", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr

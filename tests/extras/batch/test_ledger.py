"""The ledger of a batch, and what is to be done next."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.extras.batch.driver import fits, limit_of
from agentcli.extras.batch.ledger import DIED, FINAL, Ledger, Row, State, accepted, fold, parsed, present_rows, rows
from agentcli.extras.batch.plan import LOSSES, next_start
from agentcli.extras.batch.tasks import Task
from tests.tables import each_row

STATES: tuple[State, ...] = ("running", "passed", "failed", "limited", "waiting", "lost", "stopped")
TASK = Task("a", "do it", "/", attempts=2, check="true")
ROWS = st.lists(
    st.builds(
        Row,
        id=st.sampled_from("ab"),
        attempt=st.integers(1, 2),
        token=st.sampled_from("xyz"),
        state=st.sampled_from(STATES),
        cost=st.sampled_from([0.0, 0.5]),
    ),
    max_size=12,
)


@given(ROWS, st.randoms())
def test_the_order_in_which_rows_are_read_does_not_matter(found: list[Row], chance: object) -> None:
    timed = [Row(row.id, row.attempt, row.token, row.state, float(n), cost=row.cost) for n, row in enumerate(found)]
    shuffled = list(timed)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(shuffled) == fold(timed)


@given(ROWS)
def test_what_is_final_stays_so_within_its_attempt(found: list[Row]) -> None:
    seen: dict[str, Row] = {}
    timed: list[Row] = []
    for number, row in enumerate(found):
        timed.append(Row(row.id, 1, row.token, row.state, float(number)))
        state = fold(timed)[row.id]
        if row.id in seen:
            assert state.newest == seen[row.id]
        elif state.state in FINAL:
            seen[row.id] = state.newest


def test_a_torn_line_is_passed_over_and_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, clock=lambda: 7.0)
    written = ledger.write(Row("a", 1, "x", "passed", cost=0.25, check=0, text="é"))
    [file] = tmp_path.iterdir()
    with file.open("ab") as stream:
        stream.write(b'{"id": "b", "attem')
    assert list(rows(tmp_path)) == [written]
    assert written.t == 7.0


def test_a_start_whose_driver_has_ended_is_no_longer_at_work(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, clock=iter(range(10)).__next__)
    for row in (Row("a", 1, "x", "running"), Row("a", 1, "x", "passed"), Row("b", 1, "y", "running")):
        ledger.write(row)
    [file] = tmp_path.iterdir()
    assert [row.state for row in present_rows(tmp_path)] == ["running", "passed", "running"]
    ended = subprocess.Popen(["true"])
    ended.wait()
    elsewhere = file.rename(tmp_path / f"ledger-{socket.gethostname()}.other-{ended.pid}.jsonl")
    assert [row.state for row in present_rows(tmp_path)] == ["running", "passed", "running"]
    elsewhere.rename(tmp_path / f"ledger-{socket.gethostname()}-{ended.pid}.jsonl")
    assert [(row.state, row.why) for row in present_rows(tmp_path)] == [
        ("running", ""), ("passed", ""), ("stopped", DIED)
    ]  # fmt: skip
    assert list(rows(tmp_path))[-1].state == "running"
    ledger.write(Row("b", 1, "y", "stopped", why=DIED))
    assert [row.state for row in present_rows(tmp_path)] == ["running", "passed", "running", "stopped"]


def state_of(*found: Row) -> object:
    return fold(
        Row(row.id, row.attempt, row.token, row.state, float(n), tries=row.tries, over=row.over)
        for n, row in enumerate(found)
    )["a"]


@each_row(
    ("row", "attempt", "goes_on"),
    [
        (Row("a", 1, "x", "failed"), 2, False),
        (Row("a", 2, "x", "failed"), None, False),
        (Row("a", 1, "x", "failed", over=True), None, False),
        (Row("a", 1, "x", "passed"), None, False),
        (Row("a", 1, "x", "limited"), None, False),
        (Row("a", 1, "x", "running"), 1, True),
        (Row("a", 1, "x", "lost", tries=1), 1, True),
        (Row("a", 1, "x", "lost", tries=2), 1, False),
        (Row("a", 1, "x", "lost", tries=LOSSES + 1), None, False),
        (Row("a", 1, "x", "stopped"), 1, True),
        (Row("a", 1, "x", "waiting"), 1, True),
        (Row("a", 1, "x", "held"), 1, True),
        (Row("a", 1, "x", "error", tries=1), 1, False),
        (Row("a", 1, "x", "error", tries=2), None, False),
    ],
)
def test_the_next_start_follows_from_the_state(row: Row, attempt: int | None, goes_on: bool) -> None:
    start = next_start(TASK, state_of(row))  # type: ignore[arg-type]
    assert (start.attempt if start else None) == attempt
    assert bool(start and start.goes_on) == goes_on


@pytest.mark.parametrize(("state", "retry"), [("failed", "failed"), ("limited", "limited"), ("passed", "a")])
def test_what_is_final_is_done_again_where_somebody_asks(state: State, retry: str) -> None:
    start = next_start(TASK, state_of(Row("a", 2, "x", state)), [retry])  # type: ignore[arg-type]
    assert start is not None
    assert start.attempt == 3


def test_the_cost_of_an_attempt_is_that_of_its_own_starts() -> None:
    rows_ = [
        Row("a", 1, "x", "lost", 0.0, cost=0.25, session="s"),
        Row("a", 1, "y", "failed", 1.0, cost=0.5, session="s"),
        Row("a", 2, "z", "passed", 2.0, cost=2.0, session="t"),
    ]
    state = fold(rows_)["a"]
    assert {number: attempt.cost for number, attempt in state.attempts.items()} == {1: 0.75, 2: 2.0}
    assert state.cost == 2.75


@pytest.mark.parametrize(("beside", "counts"), [("running", "running"), ("lost", "passed"), ("failed", "passed")])
def test_beside_an_attempt_that_passed_only_one_at_work_is_waited_for(beside: State, counts: State) -> None:
    for first, second in (("passed", beside), (beside, "passed")):
        state = fold([Row("a", 1, "x", first, 0.0), Row("a", 2, "y", second, 1.0)])["a"]  # type: ignore[arg-type]
        assert state.state == counts


def test_a_task_starts_only_if_what_all_may_spend_fits_the_cap() -> None:
    assert fits(0.5, 0.0, 0.4, 1.0)
    assert not fits(0.5, 0.4, 0.4, 1.0)
    assert fits(0.5, 0.4, 0.4, None)
    assert limit_of(TASK, 20.0) == 1.0
    assert limit_of(TASK, None) is None


def test_only_a_second_result_of_an_attempt_from_another_start_is_a_duplicate() -> None:
    first = Row("a", 1, "x", "passed")

    def recorded(row: Row, *known: Row) -> State:
        return accepted(row, known).state

    second = Row("a", 1, "y", "failed")
    assert recorded(second) == "failed"
    assert recorded(second, Row("b", 1, "x", "passed"), first) == "duplicate"
    assert "The start x had its result" in accepted(second, [first]).why
    assert recorded(Row("a", 1, "x", "failed"), first) == "failed", "the same start"
    assert recorded(Row("a", 2, "y", "failed"), first) == "failed", "another attempt"
    assert recorded(Row("a", 1, "y", "failed", round=1), first) == "failed", "another round"
    assert recorded(Row("a", 1, "y", "lost"), first) == "lost", "no result"
    assert recorded(second, Row("a", 1, "x", "running")) == "failed", "the first start has none"


def test_a_line_has_what_says_something_and_its_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    ledger = Ledger(tmp_path, clock=lambda: 7.0)
    ledger.write(Row("a", 1, "x", "running"))
    ledger.write(Row("a", 1, "x", "failed", check=0, text="é", usage={"input": 1}, over=True))
    [file] = tmp_path.iterdir()
    assert file.name == f"ledger-{socket.gethostname()}-{os.getpid()}.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    first, second = map(json.loads, file.read_text("ascii").splitlines())
    none = {"cost": 0.0, "seconds": 0.0, "patch_lines": 0, "over": False, "tries": 0, "turns": 0, "round": 0}
    assert first == {"id": "a", "attempt": 1, "token": "x", "state": "running", "t": 7.0, **none}
    assert second == {**first, "state": "failed", "check": 0, "text": "é", "usage": {"input": 1}, "over": True}
    assert len(os.listdir("/proc/self/fd")) == before


@each_row(
    ("line", "row"),
    [
        (b'{"id": "a", "attempt": 1, "token": "x", "state": "held", "newer": 5}', Row("a", 1, "x", "held")),
        (b'{"id": "a", "attempt": 1, "token": "x"}', None),
        (b'{"id": "a"', None),
        (b"[1]", None),
        (b"5", None),
        (b"", None),
        (b"\xff", None),
    ],
)
def test_a_line_of_a_newer_version_is_read_and_an_incomplete_one_is_not(line: bytes, row: Row | None) -> None:
    assert parsed(line) == row


def test_a_result_of_the_same_moment_as_its_start_comes_after_it(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    ledger = Ledger(tmp_path, clock=lambda: 7.0)
    for state in ("passed", "running"):
        ledger.write(Row("a", 1, "x", state))
    [file] = tmp_path.iterdir()
    file.rename(tmp_path / f"ledger-{socket.gethostname()}-{ended.pid}.jsonl")
    assert [row.state for row in present_rows(tmp_path)] == ["running", "passed"]


@each_row("process", ["9" * 30, "x", "-1", ""])
def test_a_ledger_whose_name_has_no_process_belongs_to_a_driver_that_may_live(tmp_path: Path, process: str) -> None:
    Ledger(tmp_path).write(Row("a", 1, "x", "running"))
    [file] = tmp_path.iterdir()
    file.rename(tmp_path / f"ledger-{socket.gethostname()}-{process}.jsonl")
    assert [row.state for row in present_rows(tmp_path)] == ["running"]


def test_the_cost_of_a_session_is_that_of_all_starts_that_continued_it() -> None:
    starts = [
        Row("a", 1, "x", "lost", 0.0, cost=0.25, session="s"),
        Row("a", 1, "y", "lost", 1.0, cost=0.5, session="s"),
        Row("a", 1, "z", "failed", 2.0, cost=2.0, session="s"),
        Row("a", 2, "w", "running", 3.0, cost=4.0, session="t"),
    ]
    state = fold(starts)["a"]
    assert {number: each.session_cost for number, each in state.attempts.items()} == {1: 2.75, 2: 4.0}
    assert (state.session_cost, state.cost, state.state) == (4.0, 6.75, "running")


def test_of_a_start_the_last_row_counts_and_of_the_rounds_the_last() -> None:
    first = [Row("a", 1, "x", "running", 0.0, cost=1.0), Row("a", 1, "x", "failed", 1.0, cost=3.0)]
    assert (fold(first)["a"].cost, fold(first)["a"].state) == (3.0, "failed")
    again = [*first, Row("a", 1, "y", "passed", 2.0, cost=0.5, round=1)]
    state = fold(again)["a"]
    assert (state.state, state.cost, state.attempts[1].cost) == ("passed", 3.5, 3.5)
    assert {number: each.newest.token for number, each in state.attempts.items()} == {1: "y"}


@each_row(
    ("first", "second", "counts"),
    [
        ({"patch_lines": 5}, {"patch_lines": 4}, 2),
        ({"patch_lines": 4}, {"patch_lines": 5}, 1),
        ({"cost": 2.0}, {"cost": 1.0}, 2),
        ({"cost": 1.0}, {"cost": 2.0}, 1),
        ({"patch_lines": 4, "cost": 9.0}, {"patch_lines": 5, "cost": 1.0}, 1),
        ({}, {}, 1),
    ],
)
def test_of_two_that_passed_the_smaller_patch_counts_and_then_the_cheaper_one(
    first: dict[str, Any], second: dict[str, Any], counts: int
) -> None:
    state = fold([Row("a", 1, "x", "passed", 0.0, **first), Row("a", 2, "y", "passed", 1.0, **second)])["a"]
    assert state.newest.attempt == counts


@each_row(
    ("first", "second", "counts"),
    [("failed", "failed", 2), ("running", "failed", 1), ("held", "waiting", 2), ("error", "failed", 1), ("lost", "limited", 1)],
)  # fmt: skip
def test_as_long_as_none_has_passed_the_last_unfinished_attempt_counts(
    first: State, second: State, counts: int
) -> None:
    state = fold([Row("a", 1, "x", first, 0.0), Row("a", 2, "y", second, 1.0)])["a"]
    assert state.newest.attempt == counts


def test_a_driver_is_looked_for_without_a_signal_to_it(tmp_path: Path) -> None:
    Ledger(tmp_path).write(Row("a", 1, "x", "running"))
    came: list[int] = []
    former = {
        each: signal.signal(each, lambda number, _: came.append(number)) for each in (signal.SIGHUP, signal.SIGINT)
    }
    try:
        assert [row.state for row in present_rows(tmp_path)] == ["running"]
        assert came == []
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_half_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write(Row("a", 1, "x", "running"))
    [path] = tmp_path.iterdir()
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="No space left on device"):
            ledger.write(Row("a", 1, "x", "passed"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before

"""The cost of a session depends on its view, not on its length."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from agentcli.sessions.store import Store
from tests.bench.bench_store import VIEW, seconds, session_of
from tests.sessions.bodies import user


def ratio(store: Store, short, long, action) -> float:
    """The ratio of the action's time on the long session to that on the short one, by the medians of alternating runs."""
    times = {info.id: [] for info in (short, long)}
    for _ in range(15):
        for info in (short, long):
            times[info.id].append(seconds(lambda info=info: action(store, info)))
    return statistics.median(times[long.id]) / statistics.median(times[short.id])


def resume(store: Store, info) -> None:
    store.open(info.project_id, info.id).close()


def resume_and_say(store: Store, info) -> None:
    session = store.open(info.project_id, info.id)
    session.append(user("more"))
    session.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_session_of_100_000_records_resumes_as_fast_as_a_fresh_one(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    short, long = (session_of(store, tmp_path, records) for records in (VIEW + 20, 100_000))
    assert ratio(store, short, long, resume) < 1.5
    assert ratio(store, short, long, resume_and_say) < 1.5


@pytest.mark.full
def test_a_resumed_session_remembers_its_view_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    long = session_of(store, tmp_path, 4 * VIEW)
    session = store.open(long.project_id, long.id)
    assert len(session.history.entries) == VIEW
    assert session.info.records == 4 * VIEW
    session.close()

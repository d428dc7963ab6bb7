from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from agentcli.sessions.ids import local_minute


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_people_are_told_the_time_of_their_own_clock() -> None:
    assert local_minute("2026-01-31T02:30:00.000Z") == "2026-01-30 21:30"
    assert local_minute("2026-07-31T02:30:00.000Z") == "2026-07-30 22:30"
    assert local_minute("") == ""
    assert local_minute("someday") == "someday"

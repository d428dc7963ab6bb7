from __future__ import annotations

import pytest

from agentcli.sessions.info import local_minute


@pytest.mark.usefixtures("new_york")
def test_people_are_told_the_time_of_their_own_clock() -> None:
    assert local_minute("2026-01-31T02:30:00.000Z") == "2026-01-30 21:30"
    assert local_minute("2026-07-31T02:30:00.000Z") == "2026-07-30 22:30"
    assert local_minute("2026-01-31T14:05:59.999Z") == "2026-01-31 09:05"
    # The clock goes forward on this day.
    assert local_minute("2026-03-08T06:59:00.000Z") == "2026-03-08 01:59"
    assert local_minute("2026-03-08T07:00:00.000Z") == "2026-03-08 03:00"
    assert local_minute("") == ""
    assert local_minute("someday") == "someday"

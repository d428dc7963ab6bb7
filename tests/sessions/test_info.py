from __future__ import annotations

import pytest

from agentcli.sessions.info import local_minute


@pytest.mark.usefixtures("new_york")
def test_people_are_told_the_time_of_their_own_clock() -> None:
    assert local_minute("2026-01-31T02:30:00.000Z") == "2026-01-30 21:30"
    assert local_minute("2026-07-31T02:30:00.000Z") == "2026-07-30 22:30"
    assert local_minute("") == ""
    assert local_minute("someday") == "someday"

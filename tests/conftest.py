"""Settings of all tests."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("agentcli", deadline=None)
settings.load_profile("agentcli")


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of a test, five hours behind UTC in winter."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()

"""What is made to stay is not looked through for garbage, neither while it is made nor later."""

from __future__ import annotations

import gc

import pytest

from agentcli.sessions.garbage import made_to_stay


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def test_what_is_made_to_stay_is_looked_through_neither_meanwhile_nor_later() -> None:
    collected = []
    gc.callbacks.append(lambda *told: collected.append(told))
    before = gc.get_freeze_count()
    try:
        with made_to_stay():
            kept = [[number] for number in range(100_000)]
    finally:
        gc.callbacks.pop()
    assert not collected
    assert gc.get_freeze_count() > before + len(kept)
    assert gc.isenabled()

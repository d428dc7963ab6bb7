"""A batch whose driver and agents are killed has each result once, and pays nothing twice but what was under way.

A sample with played agents, fast enough for every run of the tests, is `tests/extras/batch/test_driver.py`."""

from __future__ import annotations

import random

import pytest

from tests.attack.batches import main, merged, target

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_a_few_kills_do_no_damage() -> None:
    with target(6, workers=3) as found:
        code, out = found.killed(2, random.Random(3), pause=3.0)
        assert (code, found.wrong()) == (0, []), out
        merged(found, 6)


def test_a_kill_of_the_driver_of_warm_agents_does_no_damage() -> None:
    with target(2, delay=0.2, workers=2) as found:
        code, out = found.killed(1, random.Random(1), "--warm", pause=1.0)
        assert (code, found.wrong()) == (0, []), out


@pytest.mark.timeout(7_200)
def test_ten_kills_among_two_hundred_tasks_do_no_damage() -> None:
    assert main(200, 10) == 0

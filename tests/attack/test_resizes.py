"""However the window of a streaming reply changes, every block is there once and nothing of the live part is left."""

import shutil

import pytest

from tests.attack.resizes import faults

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


@pytest.mark.full
def test_random_resizes_lose_nothing_and_leave_nothing_behind() -> None:
    assert faults(20) == []


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_thousand_random_resizes_lose_nothing_and_leave_nothing_behind() -> None:
    assert faults(1_000) == []

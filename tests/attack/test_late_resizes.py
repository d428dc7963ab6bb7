"""A paint that reaches tmux after a resize, made for the size before, loses nothing and leaves nothing behind."""

import shutil

import pytest

from tests.attack.late_resizes import faults, faults_without_reflow

in_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


def test_a_terminal_that_reflows_nothing_shows_every_block_once() -> None:
    assert faults_without_reflow(25) == []


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_a_thousand_resizes_of_a_terminal_that_reflows_nothing_are_without_a_fault() -> None:
    assert faults_without_reflow(1_000) == []


@in_tmux
def test_paints_for_an_old_size_lose_nothing_and_leave_nothing_behind() -> None:
    assert faults(25) == []


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@in_tmux
def test_a_thousand_late_resizes_lose_nothing_and_leave_nothing_behind() -> None:
    assert faults(1_000) == []

"""Many sessions at once in one process keep apart, and need little memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.attack.many_sessions import STEPS, main, many, plan
from tests.loopback import Loopback

MEMORY = 300.0
"""Megabytes that a hundred sessions and the program around them may take."""


@pytest.mark.full
def test_eight_sessions_at_once_each_get_their_own_text_files_and_records(tmp_path: Path) -> None:
    with Loopback(plan(), strict=False) as server:
        assert asyncio.run(many(tmp_path, 8, server.env)) == []
    assert len(server.requests) == 8 * STEPS


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_sessions_at_once_are_right_and_take_less_than_300_mb() -> None:
    wrong, peak = main(100)
    assert wrong == []
    assert peak < MEMORY

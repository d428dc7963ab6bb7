"""A turn costs as many function calls late in a session as early."""

from __future__ import annotations

import statistics

import pytest

from tests.bench.bench_turns import MODELS, calls_of

TURNS = 250
MOST = 1.15
"""Late turns may have this many times the calls of early ones; a turn that reads the whole session would have twice as many."""


@pytest.mark.full
@pytest.mark.parametrize("wire", [*MODELS])
def test_the_calls_of_a_turn_do_not_grow_with_the_session(wire: str) -> None:
    calls = calls_of(MODELS[wire], TURNS)
    assert statistics.median(calls[-30:]) <= MOST * statistics.median(calls[10:40])

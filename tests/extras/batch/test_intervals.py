"""Intervals, against published tables."""

from __future__ import annotations

import random

import pytest

from agentcli.extras.batch.intervals import Interval, paired, unpaired, wilson
from tests.tables import each_row


@each_row(
    ("passed", "runs", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17, 857 (1998), Table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_a_rate_has_wilsons_interval(passed: int, runs: int, low: float, high: float) -> None:
    found = wilson(passed, runs)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (passed / runs, low, high)


def test_a_rate_of_no_runs_may_be_anything() -> None:
    assert wilson(0, 0) == Interval(0.0, 0.0, 1.0)


@each_row(
    ("after", "before", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17, 873 (1998), Table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_a_difference_of_independent_runs_has_newcombes_interval(
    after: tuple[int, int], before: tuple[int, int], low: float, high: float
) -> None:
    found = unpaired(wilson(*before), wilson(*after))
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_a_difference_of_pairs_has_newcombes_interval() -> None:
    # Fagerland, Lydersen, Laake: Statistical Analysis of Contingency Tables (2017), chapter 8, data of Cavo et al. (2012).
    found = paired(59, 16, 6, 80)
    assert [round(value, 4) for value in (found.value, found.low, found.high)] == [-0.0621, -0.1186, -0.0046]
    turned = paired(59, 6, 16, 80)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_fifteen_points_less_in_forty_pairs_are_a_difference_and_three_points_are_none() -> None:
    assert paired(30, 6, 0, 4).shown
    assert paired(34, 6, 0, 0).shown
    assert not paired(35, 1, 0, 4).shown
    assert not paired(32, 3, 2, 3).shown


def test_of_pairs_that_do_not_differ_one_in_twenty_is_called_different() -> None:
    dice = random.Random(7)
    called = 0
    for _ in range(2000):
        # A third of the tasks is hard, and passes and failures come in pairs by their task.
        rates = [0.3 if number % 3 == 0 else 0.9 for number in range(40)]
        before, after = ([dice.random() < rate for rate in rates] for _ in range(2))
        pairs = list(zip(before, after, strict=True))
        counts = [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
        called += paired(*counts).shown
    assert 0.01 < called / 2000 < 0.07

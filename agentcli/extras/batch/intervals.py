"""Confidence intervals of 95 % for pass rates and their differences. Pure."""

from __future__ import annotations

from math import sqrt

from agentcli.core.dataclass import dataclass

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """True if the interval excludes 0: the data show a difference."""
        return self.low > 0 or self.high < 0


def wilson(passed: int, runs: int) -> Interval:
    """Return the rate with Wilson's score interval (E. B. Wilson, 1927); without runs, the whole range from 0 to 1."""
    if not runs:
        return Interval(0.0, 0.0, 1.0)
    rate, square = passed / runs, Z * Z
    middle = rate + square / (2 * runs)
    margin = Z * sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs))
    whole = 1 + square / runs
    return Interval(rate, max(0.0, (middle - margin) / whole), min(1.0, (middle + margin) / whole))


def unpaired(before: Interval, after: Interval) -> Interval:
    """Return the difference `after - before` of rates of independent runs, from their Wilson intervals.

    Method 10 of R. G. Newcombe, Statistics in Medicine 17, 873 (1998).
    """
    return _squared_and_added(before, after, 0.0)


def paired(both: int, only_before: int, only_after: int, neither: int) -> Interval:
    """Return the difference `after - before` of the pass rates of paired runs. The numbers count the pairs in which
    both, one or neither passed.

    Method 10 of R. G. Newcombe, Statistics in Medicine 17, 2635 (1998): the unpaired interval, narrowed by the
    correlation of the pairs.
    """
    pairs = both + only_before + only_after + neither
    before, after = both + only_before, both + only_after
    product = before * (pairs - before) * after * (pairs - after)
    excess = float(both * neither - only_before * only_after)
    if excess > 0:
        excess = max(0.0, excess - pairs / 2)  # Newcombe's correction for continuity
    correlation = excess / sqrt(product) if product else 0.0
    return _squared_and_added(wilson(before, pairs), wilson(after, pairs), correlation)


def _squared_and_added(before: Interval, after: Interval, correlation: float) -> Interval:
    difference = after.value - before.value
    down, up = after.value - after.low, before.high - before.value
    low = difference - sqrt(max(0.0, down**2 - 2 * correlation * down * up + up**2))
    down, up = before.value - before.low, after.high - after.value
    high = difference + sqrt(max(0.0, down**2 - 2 * correlation * down * up + up**2))
    return Interval(difference, max(-1.0, low), min(1.0, high))

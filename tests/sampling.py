"""Sample of many like cases that runs on every run of the tests; the others are marked as slow or full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Return cases for `parametrize`: the first of every so many runs always, the others only with the slow tests."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.slow] if number % every else []
        )
        for number, case in enumerate(cases)
    ]


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Return cases for `parametrize`: the first run always, the others with the marker `full`."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.full] if number >= count else []
        )
        for number, case in enumerate(cases)
    ]

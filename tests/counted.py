"""Counts of calls: what a piece of work costs, without a clock."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counted(*functions: Callable[..., Any]) -> Iterator[Counter[Callable[..., Any]]]:
    """The number of calls of each of these functions meanwhile, of generators the number of times that they are asked for more."""
    watched = {function.__code__: function for function in functions}  # type: ignore[attr-defined]
    calls: Counter[Callable[..., Any]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in watched:
            calls[watched[frame.f_code]] += 1

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(former)

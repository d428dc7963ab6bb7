"""Comparison of the time that a text takes with the time that twice as much of it takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def growth(work: Callable[[str], object], text: Callable[[int], str], size: int) -> float:
    """How many times the processor time of `size` twice that size takes: 2 where time grows with the text, 4 where it does with its square."""

    def seconds(size: int) -> float:
        given, taken = text(size), []
        for _ in range(3):
            began = time.process_time()
            work(given)
            taken.append(time.process_time() - began)
        return min(taken)

    return (seconds(2 * size) + 0.01) / (seconds(size) + 0.01)

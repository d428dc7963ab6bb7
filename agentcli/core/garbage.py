"""Garbage collection, put off while things are made that stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

AT_START = 50_000
"""Hardly anything that is imported is garbage: with Python's 700 a start spends a twelfth of its time on looking for some."""
WHOLE_SESSION = 1_000_000
"""For a command that prints a whole session, of which all stays until it ends."""


def collect_after(objects: int) -> None:
    """From now on look for garbage among the youngest objects only when there are so many more of them (net)."""
    gc.set_threshold(objects)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keeps Python from looking for garbage while much is made: it would look through all of it again and again.

    What is freed by its last reference is freed all the same.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """The same where all that is made stays, as with imports and a long session: later it is not looked through either."""
    with uncollected():
        try:
            yield
        finally:
            gc.freeze()

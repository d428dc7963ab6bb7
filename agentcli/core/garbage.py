"""Garbage collection, put off while things are made that stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

AT_START = 50_000
"""For a start: hardly anything imported is garbage, and with Python's default of 700 a twelfth of the time goes into looking for it."""
WHOLE_SESSION = 1_000_000
"""For a command that prints a whole session: all of it stays until the end."""


def collect_after(objects: int) -> None:
    """From now on look for garbage among the youngest objects only once so many more were made than freed."""
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

"""Python's collection of garbage in cycles, and when it would only cost time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keeps Python from looking for garbage while much is made that stays: it would look through all of it again and again.

    What is freed by its last reference is freed all the same.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def made_to_stay() -> Iterator[None]:
    """The same, and what stands at the end is not looked through later either: a long session is hundreds of thousands of objects."""
    with uncollected():
        yield
        gc.freeze()

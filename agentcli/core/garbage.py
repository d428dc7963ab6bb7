"""Garbage collection, put off while things are made that stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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

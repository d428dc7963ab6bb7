"""Garbage collection, put off while things are made that stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Put collection off, as for imports: looking through thousands of functions and classes only costs time, and all of them stay.

    What is there at the end is not looked at again either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()

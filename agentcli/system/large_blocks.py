"""Large blocks of memory, which the C library's allocator otherwise keeps after their release."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

_MMAP_THRESHOLD = -3
"""The parameter's number in glibc: `man 3 mallopt`."""
_LARGE = 256_000
"""Bytes from which a block is returned to the system at once."""


@cache
def return_large_blocks() -> None:
    """Let the process return each large block at once; without glibc do nothing.

    By default, glibc keeps up to twice the largest released block. That is two copies of a large reply.
    """
    import ctypes  # 2 ms that most runs do not need

    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)

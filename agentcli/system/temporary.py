"""Names of temporary files, which are next to the files that they become."""

from __future__ import annotations

import os

_KEPT = 100
"""Bytes of a file's name that its temporary file keeps: a name may have 255 bytes, and the additions must fit too."""


def temporary_name(name: str) -> str:
    """Return a name for the temporary file of a file: hidden, and different with each call."""
    head = name.encode("utf-8", "surrogateescape")[:_KEPT].decode("utf-8", "ignore")
    return f".{head}.{os.urandom(6).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Return True if a file has such a name: its writer was killed."""
    return name.startswith(".") and name.endswith(".tmp")

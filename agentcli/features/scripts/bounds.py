"""Limits of a script."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a script."""

    seconds: float = 60.0
    """Its own time, in which none of its calls is at work."""
    calls: int = 500
    """Calls that it makes."""
    at_once: int = 16
    """Threads of `gather`, and so its calls that are made together."""
    memory: int = 512_000_000
    """Bytes of its address space."""
    code: int = 200_000
    """Characters of its code."""
    request: int = 1_000_000
    """Bytes of the calls that it makes together."""
    result: int = 1_000_000
    """Characters that it gets of one result."""
    results: int = 50_000_000
    """Characters that it gets of all results."""
    printed: int = 20_000_000
    """Bytes that it prints."""
    read: int = 200_000
    """Lines and bytes that its `read` returns at once: a program overlooks the notice of a cut."""
    matches: int = 1_000
    """Results of its searches."""
    notes: int = 5
    """Notes about its results that the model gets."""

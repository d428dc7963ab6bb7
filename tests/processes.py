"""Processes that tests leave behind, or should not: recognised by an argument that nothing else has."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def fresh_mark() -> str:
    """An argument to recognise processes by: `sleep` takes it as a very long time."""
    return f"9{uuid.uuid4().int % 10**12:012}"


def living(mark: str) -> list[str]:
    """The other living processes that carry a mark, each as its id and command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in line and int(pid) != os.getpid():
            found.append(f"{pid} {line}")
    return found

"""Processes that commands have started, by the parents that Linux shows."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

_DEEPEST = 64
_SANDBOX = "bwrap"


def descends(pid: int) -> bool:
    """Return True if a child of this process has started a living process, as a supervisor starts a command."""
    depth = 0
    while pid > 1 and depth < _DEEPEST:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                parent = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if parent == os.getpid():
            return depth > 0
        pid, depth = parent, depth + 1
    return False


def found_by(pattern: str, folders: Collection[Path]) -> Mapping[str, bool] | None:
    """Return the living processes whose name or command line contains a match, whatever its case.

    Each is true if a command of this program runs it in a sandbox, in one of the folders. None if the system shows no
    processes.
    """
    wanted = re.compile(pattern, re.IGNORECASE | re.DOTALL)
    found: dict[str, bool] = {}
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    for pid in numbers:
        with suppress(OSError, ValueError):
            command = _read(pid, "cmdline").replace(b"\0", b" ")
            named, _, state = _read(pid, "stat").rpartition(b") ")
            texts = [text.decode(errors="replace") for text in (named.partition(b"(")[2], command)]
            if state[:1] not in b"ZX" and any(map(wanted.search, texts)):
                own = descends(pid) and _in_sandbox(pid, texts[0]) and _works_in(pid, folders)
                found[f"{texts[0]} ({pid})"] = own
    return found if numbers else None


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def _in_sandbox(pid: int, name: str) -> bool:
    """Return True for a process in an inner process namespace, and for the program that makes one."""
    numbers = re.search(rb"^NSpid:(.*)$", _read(pid, "status"), re.MULTILINE)
    return name == _SANDBOX or (numbers is not None and len(numbers[1].split()) > 1)


def _works_in(pid: int, folders: Collection[Path]) -> bool:
    return any(map(Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to, folders))

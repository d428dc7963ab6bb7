"""`partial.json`: the reply that is still streaming, saved every second, removed once its record is written."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.core.codec.encode import dumps, part_from_json, part_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Part
from agentcli.core.record import SCHEMA
from agentcli.sessions.storage.disk import Disk, write_file

INTERVAL = 1.0
"""Seconds between two saves of a streaming reply."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as far as it had arrived. `after` is the number of the newest record when it was saved."""

    after: int
    parts: tuple[Part, ...]


class Partial:
    """Saver of the streaming reply: at most once each `interval` seconds, and always its last piece."""

    def __init__(self, path: Path, disk: Disk, interval: float = INTERVAL) -> None:
        self._path, self._disk, self._interval = path, disk, interval
        self._lock = threading.Lock()
        self._due = 0.0
        self._reply: tuple[int, Callable[[], Sequence[Part]]] | None = None
        self._timer: threading.Timer | None = None
        self._written = False

    def keep(self, after: int, parts: Callable[[], Sequence[Part]]) -> None:
        """Remember a reply after the record `after`; write it if a save is due, else start a timer for it."""
        with self._lock:
            self._reply = after, parts
            if self._timer is None:
                self._write_when_due()

    def flush(self) -> None:
        """Write the part of the reply that is not yet written."""
        with self._lock:
            self._write()

    def clear(self) -> None:
        """Forget the reply, now that its record is written."""
        with self._lock:
            self._reply = None  # the timer remains: it finds nothing, or serves the next reply, which then needs none
            if self._written:
                self._written = False
                with contextlib.suppress(OSError):
                    self._disk.unlink(self._path)

    def _fire(self) -> None:
        with self._lock:
            self._timer = None
            if self._reply is not None:
                self._write_when_due()

    def _write_when_due(self) -> None:
        wait = self._due - time.monotonic()
        if wait <= 0:
            self._write()
            return
        self._timer = threading.Timer(wait, self._fire)
        self._timer.daemon = True
        try:
            self._timer.start()
        except RuntimeError:  # the system has no more threads
            self._write()

    def _write(self) -> None:
        self._stop_timer()
        pending, self._reply = self._reply, None
        reply = Reply(pending[0], tuple(pending[1]())) if pending else None
        if reply is None or not reply.parts:
            return
        self._due = time.monotonic() + self._interval
        # A streaming reply that cannot be saved is not lost yet: its record will report a disk that still fails then.
        with contextlib.suppress(OSError):
            write_file(self._disk, self._path, _encode(reply))
            self._written = True

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def read_partial(path: Path) -> Reply | None:
    """Return the reply that was streaming when its process died, or None. Damaged parts are dropped."""
    try:
        raw = json.loads(path.read_bytes())
        parts = tuple(part for part in map(_part, raw["parts"]) if part is not None)
        return Reply(int(raw["after"]), parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _encode(reply: Reply) -> bytes:
    raw = {"schema": SCHEMA, "after": reply.after, "parts": [part_to_json(part) for part in reply.parts]}
    return (dumps(raw) + "\n").encode("utf-8")


def _part(raw: object) -> Part | None:
    try:
        return part_from_json(raw) if isinstance(raw, dict) else None
    except (ValueError, KeyError, TypeError):
        return None

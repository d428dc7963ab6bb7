"""The port to the storage of a session: on disk, or in memory for `--no-session`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.history import History
from agentcli.core.message import Part
from agentcli.core.record import Body, Record
from agentcli.core.text.passage import Entry, Needles


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A session that was handed off to another, as it was at record `until`. It is only read.

    In the other one its records have the numbers below 1: the newest is -1.
    """

    journal: Journal
    until: int

    def number(self, seq: int) -> int:
        """The number of one of its records in the session that goes on from it."""
        return seq - self.until - 1


class Journal(Protocol):
    """One session, open for writing in this process."""

    @property
    def id(self) -> str:
        """Its id, which sorts by time."""
        ...

    @property
    def folder(self) -> Path | None:
        """Its folder, or None when nothing is written."""
        ...

    @property
    def history(self) -> History:
        """The history in force."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Damage found or repaired when it was opened, as messages for people."""
        ...

    def append(self, body: Body) -> Record:
        """Write a record and fold it in; it is durable when this returns.

        Never raises for a failing disk: then the record is kept in memory and `trouble` says so.
        """
        ...

    def stream(self, parts: Callable[[], Sequence[Part]]) -> None:
        """Remember a reply that is still arriving (`partial.json`); costs nothing when called more than once a second.

        `parts` gives what has arrived, and is asked only when that is saved, maybe later and from another thread.
        """
        ...

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole tool output, or a file that a tool brought, and return its path; empty for a file where nothing is stored."""
        ...

    def output(self, path: str) -> str:
        """A whole output that was kept, or an empty text if it is gone."""
        ...

    def records(self, newest_first: bool = False) -> Iterator[Record]:
        """All records ever written, read from disk as they are asked for."""
        ...

    def records_of(self, kind: str, newest_first: bool = False) -> Iterator[Record]:
        """All records of one kind, oldest first by default. They are read as they are asked for, and no others are."""
        ...

    def record(self, seq: int) -> Record | None:
        """One record by its number."""
        ...

    def candidates(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Entry]:
        """The records up to number `newest` that may hold the needles in one passage, and the call; the newest first.

        Those that do are among them. What was rewound or summarised since is, too. Raises OutOfTime once `time.monotonic`
        has passed `until`, but never before it has looked at some.
        """
        ...

    def index(self) -> Iterator[float]:
        """Make the parts of the index that are missing, one at a time; yields the share that is done, nothing if none is missing."""
        ...

    @property
    def predecessor(self) -> Predecessor | None:
        """The session that was handed off to this one; None where there is none, or it is gone."""
        ...

    def trouble(self) -> str:
        """Reason why the session is not being saved, or an empty text. Reported once each time the reason changes."""
        ...

    def settle(self) -> None:
        """Save what may wait while a turn is going on: the turn has ended. Records never wait."""
        ...

    def close(self) -> None:
        """Let others write."""
        ...

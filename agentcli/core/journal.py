"""Port to the storage of a session: on disk, or in memory for `--no-session`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History
from agentcli.core.message import Part, UnfinishedText
from agentcli.core.record import Body, Record

if TYPE_CHECKING:
    from agentcli.core.text.passage import Entry, Mark, Needles, Passage


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A session that was handed off to another, in its state at record `until`; read-only.

    In the other session its records have numbers below 1; the newest is -1.
    """

    journal: Journal
    until: int

    def number(self, seq: int) -> int:
        """Return the number of one of its records in the session that continues it."""
        return seq - self.until - 1


class Journal(Protocol):
    """One session, open for writing in this process."""

    @property
    def id(self) -> str:
        """Its id, which sorts by time."""
        ...

    @property
    def folder(self) -> Path | None:
        """Its folder, or None if nothing is written."""
        ...

    @property
    def history(self) -> History:
        """The history in force."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Damage found or repaired while opening, as messages for people."""
        ...

    def append(self, body: Body) -> Record:
        """Write a record and fold it in; it is durable on return.

        Never raises if the disk fails: the record is then kept in memory, and `trouble` reports the reason.
        """
        ...

    def stream(self, parts: Callable[[], Sequence[Part | UnfinishedText]]) -> None:
        """Save a reply that is still arriving (`partial.json`); more than one call a second costs nothing.

        `parts` returns the parts so far. It is called only to save them, possibly later and from another thread.
        """
        ...

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole tool output, or a file from a tool, and return its path.

        For a file, the path is empty if nothing is stored.
        """
        ...

    def output(self, path: str) -> str:
        """Return a whole saved output, or an empty text if it is gone."""
        ...

    def records(self, newest_first: bool = False) -> Iterator[Record]:
        """Yield all records ever written, oldest first by default; each is read from disk on demand."""
        ...

    def records_of(self, kind: str, newest_first: bool = False) -> Iterator[Record]:
        """Yield all records of one kind, oldest first by default. Each is read on demand, and no others are read."""
        ...

    def record(self, seq: int) -> Record | None:
        """Return one record by its number; None if there is none."""
        ...

    def candidates(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Entry]:
        """Yield the records up to number `newest` that may contain the needles in one passage, and the call; newest
        first.

        Every match is among them, even if its record was rewound or summarised. Raises OutOfTime once `time.monotonic`
        has passed `until`, but only after it has examined some records.
        """
        ...

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first.

        Each has the terms that it may contain, ignoring case. Reads no record. Raises OutOfTime like `candidates`.
        """
        ...

    def index(self) -> Iterator[float]:
        """Build the missing parts of the index one at a time. Yields the finished share; nothing if no part is missing."""
        ...

    @property
    def predecessor(self) -> Predecessor | None:
        """The session that was handed off to this one; None if there is none or it is gone."""
        ...

    def trouble(self) -> str:
        """Return why the session is not being saved, or an empty text. Each new reason is reported once."""
        ...

    def settle(self) -> None:
        """Save everything that may wait during a turn, because the turn has ended. Records never wait."""
        ...

    def close(self) -> None:
        """Release the session, so that other processes can write it."""
        ...


class SessionText:
    """The text of a session and of its predecessor, which was handed off to it, for searches."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """Yield the passages of this session that may contain the needles, newest first.

        They come from the records up to number `newest`, and from this call. Every match is among them, even in records
        that were cleared, summarised or rewound since, or inherited by a fork. Raises OutOfTime once `time.monotonic`
        has passed `until`.
        """
        return _passages(self._journal, needles, call_id, newest, until)

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first.

        Each has the terms that it may contain, ignoring case. Reads no record. Raises OutOfTime like `passages`.
        """
        return _marks(self._journal, terms, newest, until)

    def passages_of(self, mark: Mark) -> Sequence[Passage]:
        """Return the passages of a marked record; none if it is unreadable."""
        return _passages_of(self._journal, mark.seq, mark.turn)

    def index(self) -> Iterator[float]:
        """Make the missing parts of the session's index, then of its predecessor's, one at a time.

        Yield the share that is done.
        """
        journal: Journal | None = self._journal
        while journal is not None:
            yield from journal.index()
            journal = journal.predecessor.journal if journal.predecessor else None


def _passages(journal: Journal, needles: Needles, call_id: str, newest: int | None, until: float) -> Iterator[Passage]:
    """Yield the passages of a session, then its predecessor's, numbered below 1; the predecessor was handed off to it."""
    from agentcli.core.text.passage import OutOfTime, passages

    if newest is None or newest > 0:
        for entry in journal.candidates(needles, call_id, newest, until):
            found = passages(entry, journal.output)
            yield from (passage for passage in found if call_id in ("", passage.call_id))
    former = journal.predecessor
    if former is None:
        return
    try:
        for passage in _passages(former.journal, needles, call_id, _last(former, newest), until):
            yield replace(passage, seq=former.number(passage.seq))
    except OutOfTime as left:
        raise OutOfTime(former.number(left.seq)) from None


def _marks(journal: Journal, terms: Sequence[str], newest: int | None, until: float) -> Iterator[Mark]:
    """Yield the marks of a session, then its predecessor's, numbered below 1."""
    from agentcli.core.text.passage import OutOfTime

    if newest is None or newest > 0:
        yield from journal.marks(terms, newest, until)
    former = journal.predecessor
    if former is None:
        return
    try:
        for mark in _marks(former.journal, terms, _last(former, newest), until):
            yield replace(mark, seq=former.number(mark.seq))
    except OutOfTime as left:
        raise OutOfTime(former.number(left.seq)) from None


def _passages_of(journal: Journal, seq: int, turn: int) -> Sequence[Passage]:
    from agentcli.core.text.passage import Entry, passages

    former = journal.predecessor if seq < 0 else None
    if former is not None:
        found = _passages_of(former.journal, seq + former.until + 1, turn)
        return tuple(replace(passage, seq=former.number(passage.seq)) for passage in found)
    record = journal.record(seq)
    return tuple(passages(Entry(record, turn), journal.output)) if record else ()


def _last(former: Predecessor, newest: int | None) -> int:
    """Return the number in a former session of the record `newest`, or of its last one."""
    return former.until if newest is None or newest >= 0 else former.until + 1 + newest

"""Sessions on disk, open for writing or only for reading: the journal that loses nothing."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.codec.encode import encoded, readable
from agentcli.core.errors import StoreError
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.journal import Predecessor
from agentcli.core.message import Message, Part, UnfinishedText
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Body, Record, Settings, Undo
from agentcli.sessions.info import SessionInfo, encode_info, new_id, note, stamp
from agentcli.sessions.storage.records import RECALL, SEGMENT, Reader, RecordFolder, digest, tail
from agentcli.sessions.storage.writer import INTERVAL, Outputs, Partial, Writer
from agentcli.system.branch import branch
from agentcli.system.disk import Disk

if TYPE_CHECKING:
    from agentcli.core.text.passage import Entry, Mark, Needles
    from agentcli.sessions.storage.recall_index import RecallIndex


class Session:
    """A session, made by `Store`. Without a `writer` it is read-only.

    `records` are those that determine the state in force; they are folded only if something asks for it.
    """

    def __init__(
        self,
        folder: Path,
        info: SessionInfo,
        disk: Disk,
        writer: Writer | None,
        *,
        records: Sequence[Record] = (),
        notes: Sequence[str] = (),
        interval: float = INTERVAL,
    ) -> None:
        self._folder, self._info, self._writer = folder, info, writer
        self._unfolded = records
        self._notes = list(notes)
        self._changed = self._closed = self._outdated = False
        self._interval, self._glance_due = interval, 0.0
        self._open_former: Callable[[str], Session | None] | None = None
        self._former: Predecessor | None = None
        self._shelf = RecordFolder(folder / "records")
        self._outputs = writer.outputs if writer else Outputs(folder / "outputs", disk)
        self._partial = Partial(folder / "partial.json", disk, interval)
        self._recall = OnDemand(partial(_recall_index, folder, disk, self._outputs))

    @property
    def id(self) -> str:
        """The session's id, which sorts by time."""
        return self._info.id

    @property
    def folder(self) -> Path | None:
        """The session's folder, which exists once the first record is written."""
        return self._folder

    @cached_property
    def history(self) -> History:
        """The state in force now."""
        history = fold(self._unfolded, self._info.foreign)
        self._unfolded = ()
        return history

    @property
    def info(self) -> SessionInfo:
        """The session's summary, with everything that was appended."""
        return self._info

    @property
    def notes(self) -> tuple[str, ...]:
        """Repairs made while opening the session, as lines for people."""
        return tuple(self._notes)

    @property
    def predecessor(self) -> Predecessor | None:
        """The session that was handed off to this one, as it is on disk."""
        parent = self._info.parent
        if self._former is None and parent is not None and parent.kind == "handoff" and self._open_former:
            former = self._open_former(parent.session)
            self._former = Predecessor(former, parent.seq) if former else None
        return self._former

    def follow(self, open_former: Callable[[str], Session | None]) -> Session:
        """Set the function that finds a session handed off to this one; return this session."""
        self._open_former = open_former
        return self

    @property
    def unsaved(self) -> int:
        """The number of records that are only in memory."""
        return len(_waiting(self._writer))

    def append(self, body: Body) -> Record:
        """Write a record and add it to the history; it is durable on return, or `trouble` gives the reason.

        Settings wait for the first other record, so that a session without a prompt creates no files. After a rewind,
        this also appends the records that it must not undo. Raises StoreError on a read-only session, never for a
        failing disk.
        """
        writer = self._writing()
        before = self.history
        if isinstance(body, Undo):
            body = _paid(body, self._info.records + 1, self.history, self._tail)
        record = Record(self._info.records + 1, new_id(), stamp(), self._info.head, readable(body))
        data = encoded(record)
        # Memory has the whole record before the disk is tried: after any interruption, it is written later.
        writer.add(record, data)
        self._changed = True
        self._info = note(self._info, record, digest(data))
        if isinstance(body, Message) and body.is_prompt:
            self._info = replace(self._info, branch=branch(Path(self._info.directory)))
        self.history = _evolved(self.history, record, self._tail)
        if (writer.exists or not isinstance(body, Settings)) and self._save(writer) and record.kind == "message":
            self._partial.clear()
        if not writer.waiting and record.seq % SEGMENT == 0:
            self._recall().make_segment(record.seq // SEGMENT, partial(_saved, self._shelf.folder))
        if isinstance(body, Undo):
            from agentcli.sessions.checkpoints.undo import lasting

            for said_again in lasting(before, self.history):
                self.append(said_again)
        return record

    def stream(self, parts: Callable[[], Sequence[Part | UnfinishedText]]) -> None:
        """Save a reply that is still arriving; it is written at most once a second, including its last piece."""
        if self._writing().exists:
            self._partial.keep(self._info.records, parts)

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole tool output, or a file from a tool, and return its path; exports omit such files.

        If the disk refuses, it stays in memory and `trouble` reports it.
        """
        writer = self._writing()
        self._changed = True
        return writer.keep_output(call_id, output, ending)

    def output(self, path: str) -> str:
        """Return a whole saved output, or an empty text if it is gone."""
        return self._outputs.text(path)

    def records(self, newest_first: bool = False) -> Iterator[Record]:
        """Yield all readable records ever written, one by one from disk unless they are in memory."""
        numbers = range(1, self._info.records + 1)
        held = {entry.seq: entry for entry in self._unfolded or self.history.entries}
        with self._shelf.held_open() as shelf:
            for seq in reversed(numbers) if newest_first else numbers:
                record = held.get(seq) or _waiting(self._writer).get(seq) or Reader(shelf).read(seq)
                if record is not None:
                    yield record

    def records_of(self, kind: str, newest_first: bool = False) -> Iterator[Record]:
        """Yield all records of one kind, oldest first by default, reading one at a time and no other kind."""
        waiting = [seq for seq, record in _waiting(self._writer).items() if record.kind == kind]
        numbers = sorted({*self._shelf.numbers(kind), *waiting})
        for seq in reversed(numbers) if newest_first else numbers:
            record = self.record(seq)
            if record is not None:
                yield record

    def record(self, seq: int) -> Record | None:
        """Return a record by its number, or None."""
        return _waiting(self._writer).get(seq) or Reader(self._shelf).read(seq)

    def candidates(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Entry]:
        """Yield the records up to number `newest` that may contain the needles and the call, newest first, using the
        index.
        """
        from agentcli.core.text.passage import Entry

        last = self._info.records if newest is None else min(newest, self._info.records)
        found = self._recall().candidates(
            last, self.record, needles, call_id, save=_index_is_saved(self._writer, self._closed), until=until
        )
        for seq, turn in found:
            record = self.record(seq)
            if record is not None:
                yield Entry(record, turn)

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first.

        Each comes with the terms that it may contain, according to the index.
        """
        last = self._info.records if newest is None else min(newest, self._info.records)
        return self._recall().marks(
            last, self.record, terms, save=_index_is_saved(self._writer, self._closed), until=until
        )

    def index(self) -> Iterator[float]:
        """Build the missing parts of the index, yielding the progress; a read-only session keeps them in memory."""
        return self._recall().fill(self._info.records, self.record, save=_index_is_saved(self._writer, self._closed))

    def trouble(self) -> str:
        """Return why the session is not being saved now; or, once, that a write was repeated; or an empty text."""
        return self._writer.trouble() if self._writer else ""

    def save_glance(self, durable: bool = False) -> None:
        """Replace `session.json`; if the disk refuses, the old one stays, and the next opening brings it up to date."""
        self._info = replace(self._info, shelf=self._shelf.mark())
        self._outdated, self._glance_due = False, time.monotonic() + self._interval
        self._writing().replace(self._folder / "session.json", encode_info(self._info), durable=durable)

    def settle(self) -> None:
        """Bring `session.json` up to date at the end of a turn."""
        if self._outdated and not self._closed:
            self.save_glance()

    def close(self) -> None:
        """Save all waiting data and release the lock; `trouble` and `unsaved` report what could not be saved.

        A second call does nothing.
        """
        writer = self._writer
        if writer is None or self._closed:
            return
        self._partial.flush()
        if self._changed and (writer.exists or any(not isinstance(record.body, Settings) for record in writer.waiting)):
            self._save(writer, durable=True)
        if recall := self._recall.now:
            recall.settle()
        writer.release()
        self._closed = True

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError(f"Session {self.id} is open read-only: nothing can be added to it. Fork it to continue.")
        if self._closed:
            raise StoreError(f"Session {self.id} is closed: nothing can be added to it. Open it again to continue.")
        return self._writer

    def _save(self, writer: Writer, durable: bool = False) -> bool:
        """Write all records, and `session.json` at most once an interval: its readers also read newer records."""
        if not writer.save():
            return False
        self._outdated = True
        if durable or time.monotonic() >= self._glance_due:
            self.save_glance(durable)
        return True

    def _tail(self, *more: Record) -> list[Record]:
        held = (*self.history.entries, *self.history.prunes, *_waiting(self._writer).values(), *more)
        return tail(_FromMemory(self._shelf, {record.seq: record for record in held}), self._info.records + len(more))


def _waiting(writer: Writer | None) -> dict[int, Record]:
    """Return the records that are not on disk yet, by number."""
    return {record.seq: record for record in writer.waiting} if writer else {}


def _saved(folder: Path, seq: int) -> Record | None:
    """Read a record from its file, even while the session is being written."""
    return Reader(RecordFolder(folder)).read(seq)


def _index_is_saved(writer: Writer | None, closed: bool) -> bool:
    return writer is not None and writer.exists and not closed


def _evolved(history: History, record: Record, tail: Callable[[], Sequence[Record]]) -> History:
    """Add a record to the history, replaying the tail of the records if necessary."""
    try:
        return evolve(history, record)
    except NeedsReplay:
        # Out of file descriptors: the undo is recorded, and takes effect when the session is opened again.
        with contextlib.suppress(OSError):
            return fold(tail(), history.foreign)
    return history


def _paid(undo: Undo, seq: int, history: History, tail: Callable[[Record], Sequence[Record]]) -> Undo:
    """Return the undo as record `seq`, with the costs that it must not take back."""
    from agentcli.sessions.checkpoints.undo import paid

    with contextlib.suppress(OSError):
        return paid(undo, history, fold(tail(Record(seq, "", "", "", undo)), history.foreign))
    return undo


def _recall_index(folder: Path, disk: Disk, outputs: Outputs) -> RecallIndex:
    from agentcli.sessions.storage.recall_index import RecallIndex

    return RecallIndex(folder / RECALL, disk, outputs.text)


class _FromMemory(Reader):
    """A reader that takes records from memory if possible, so that a slow or failing disk is not read again."""

    def __init__(self, shelf: RecordFolder, memory: dict[int, Record]) -> None:
        super().__init__(shelf)
        self._memory = memory

    def read(self, seq: int, head: str = "") -> Record | None:
        return self._memory.get(seq) or super().read(seq, head)

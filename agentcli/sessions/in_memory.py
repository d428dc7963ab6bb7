"""Sessions in memory only, for `--no-session`: nothing is written anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentcli.core.codec.encode import readable
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.message import Message, Part, UnfinishedText
from agentcli.core.record import Body, Record, Undo
from agentcli.core.text.passage import Entry, Mark, Needles, call_ids, folded, passages
from agentcli.sessions.checkpoints.undo import lasting, paid
from agentcli.sessions.info import new_id, stamp
from agentcli.sessions.storage.writer import output_name


class MemorySession:
    """A session without a disk, which keeps every record itself.

    `past` is a session to continue: its records are only read. `predecessor` is a session that was handed off to this
    one.
    """

    def __init__(
        self, past: Journal | None = None, *, predecessor: Predecessor | None = None, session_id: str = ""
    ) -> None:
        self._id = session_id or new_id()
        self._past = past
        self._predecessor = predecessor
        self._records: list[Record] = list(past.records()) if past else []
        self._outputs: dict[str, str] = {}
        self._history = past.history if past else History()

    @property
    def id(self) -> str:
        """The session's id, unknown to other processes."""
        return self._id

    @property
    def folder(self) -> Path | None:
        """None: nothing is written."""
        return None

    @property
    def history(self) -> History:
        """The state in force now."""
        return self._history

    @property
    def notes(self) -> Sequence[str]:
        """Empty: no file was opened."""
        return ()

    @property
    def predecessor(self) -> Predecessor | None:
        """The session that was handed off to this one."""
        return self._predecessor or (self._past.predecessor if self._past else None)

    def append(self, body: Body) -> Record:
        """Add a record to the history."""
        if isinstance(body, Undo):
            trial = Record(len(self._records) + 1, "", "", "", body)
            body = paid(body, self._history, fold([*self._records, trial], self._history.foreign))
        seq = self._records[-1].seq + 1 if self._records else 1
        record = Record(seq, new_id(), stamp(), "", readable(body))
        self._records.append(record)
        before = self._history
        try:
            self._history = evolve(self._history, record)
        except NeedsReplay:
            self._history = fold(self._records, before.foreign)
            for said_again in lasting(before, self._history):
                self.append(said_again)
        return record

    def stream(self, parts: Callable[[], Sequence[Part | UnfinishedText]]) -> None:
        """Ignore a reply that is still arriving: it need not survive this process."""

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Keep a whole tool output; return a path that only `output` understands.

        Files are not kept: their path is empty.
        """
        if isinstance(output, bytes):
            return ""
        name = output_name(call_id)
        self._outputs[name] = output
        return f"memory/{name}"

    def output(self, path: str) -> str:
        """Return a whole output that was kept, or an empty text."""
        if path not in self._outputs and self._past is not None:
            return self._past.output(path)
        return self._outputs.get(Path(path).name, "")

    def records(self, newest_first: bool = False) -> Iterator[Record]:
        """Yield all records of this session."""
        return reversed(self._records) if newest_first else iter(self._records)

    def records_of(self, kind: str, newest_first: bool = False) -> Iterator[Record]:
        """Yield all records of one kind, oldest first by default."""
        return (record for record in self.records(newest_first) if record.kind == kind)

    def record(self, seq: int) -> Record | None:
        """Return a record by its number, or None."""
        return next((record for record in self._records if record.seq == seq), None)

    def candidates(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Entry]:
        """Yield the records up to number `newest` that contain the call, newest first.

        Without a call, yield all records, because there is no index.
        """
        turn, entries = 0, []
        for record in self._records:
            turn = record.body.turn if isinstance(record.body, Message) else turn
            if newest is None or record.seq <= newest:
                entries.append(Entry(record, turn))
        return (entry for entry in reversed(entries) if not call_id or call_id in call_ids(entry.record.body))

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first, with the terms that they contain."""
        wanted = [folded(term) for term in terms]
        for entry in self.candidates(newest=newest):
            if texts := [folded(passage.text) for passage in passages(entry, self.output)]:
                held = sum(1 << n for n, term in enumerate(wanted) if any(term in text for text in texts))
                yield Mark(entry.record.seq, entry.turn, held, sum(map(len, texts)))

    def index(self) -> Iterator[float]:
        """Yield nothing: there is no index to make."""
        return iter(())

    def trouble(self) -> str:
        """Return an empty text: the user asked for a session that is not saved."""
        return ""

    def settle(self) -> None:
        """Do nothing: nothing is saved."""

    def close(self) -> None:
        """Close the session that this one continues."""
        if self._past is not None:
            self._past.close()

"""Record files of one session: found by number without listing the folder, read with their chain of hashes checked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Literal

from agentcli.core.codec.encode import Damaged, LongLine, decode
from agentcli.core.dataclass import dataclass
from agentcli.core.record import KINDS, Compaction, Record, Undo

RECALL = "recall"
"""The folder of a session that holds the index of its texts."""
SEGMENT = 256
"""Number of records whose rows make one file of the index in `recall/`."""
_AT_ONCE = 1 << 16
"""Bytes to read from a file before its size is known: most records are shorter."""
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a named pipe does not block
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # these errors are not about the record
_KINDS = ("tool_result", "message", *(kind for kind in KINDS.values() if kind not in ("tool_result", "message")))
_KINDS_AFTER_RESULT = ("message", "tool_result", *_KINDS[2:])


Through = Callable[[Iterable[Record]], Iterable[Record]]
"""A function that records pass through unchanged; it may show progress."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A record that cannot be used."""

    seq: int
    """Its number; 0 for a file that is not a record."""
    why: str
    """The reason, for people."""
    file: Path | None = None
    """Its file; None if none is left."""
    cause: Literal["missing", "unreadable", "damaged"] = "damaged"


def file_name(seq: int, kind: str) -> str:
    """Return a name such as `000001-message.json`, which sorts by number and shows the kind."""
    return f"{seq:06d}-{_in_names(kind)}.json"


@cache
def _in_names(kind: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "_" else "_" for letter in kind)[:40]


def number_in(name: str) -> int | None:
    """Return the number in a record file's name, or None for any other file."""
    head, dash, rest = name.partition("-")
    return int(head) if dash and head.isascii() and head.isdigit() and rest.endswith(".json") else None


def digest(data: bytes | LongLine) -> str:
    """Return the SHA-256 of a record file; the following record has it as `prev`."""
    return data.digest if isinstance(data, LongLine) else hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class RecordFolder:
    """The folder `records/`. The cost of reading a record does not depend on their number.

    For an unknown kind, the folder is listed once.
    """

    folder: Path
    _descriptor: int | None = field(default=None, repr=False)
    _prefix: str = field(default="", init=False, repr=False)
    _listing: dict[int, str] | None = field(default=None, repr=False)
    _after_result: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self._prefix = f"{self.folder}{os.sep}" if self._descriptor is None else ""

    @contextlib.contextmanager
    def held_open(self) -> Iterator[RecordFolder]:
        """Open the folder to read many records: their files are then opened without resolving its path each time."""
        with contextlib.ExitStack() as at_last:
            descriptor = None
            # If it cannot be opened, reading a record by its path reports the reason.
            with contextlib.suppress(OSError):
                descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                at_last.callback(os.close, descriptor)
            yield RecordFolder(self.folder, descriptor)

    def read(self, seq: int) -> bytes | None:
        """Return the bytes of a record's file, or None if there is none. Raises OSError if it cannot be read."""
        # Messages and results mostly alternate: after one kind, try the other first.
        for kind in _KINDS_AFTER_RESULT if self._after_result else _KINDS:
            try:
                data = read_file(f"{self._prefix}{seq:06d}-{kind}.json", self._descriptor)
            except (FileNotFoundError, NotADirectoryError):
                continue
            self._after_result = kind == "tool_result"
            return data
        name = self._listed().get(seq)
        if name is None:
            return None
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return read_file(self.folder / name)
        return None

    def path(self, seq: int) -> Path | None:
        """Return the path of a record."""
        for kind in _KINDS:
            path = self.folder / file_name(seq, kind)
            if path.exists():
                return path
        name = self._listed().get(seq)
        return self.folder / name if name else None

    def path_of_no_file(self, seq: int) -> Path | None:
        """Return the path of an entry with a record's name that is not a regular file, such as a folder.

        Return None if there is none.
        """
        for name in self.files().get(seq, ()):
            with contextlib.suppress(OSError):
                if not stat.S_ISREG(os.lstat(self.folder / name).st_mode) and not (self.folder / name).is_file():
                    return self.folder / name
        return None

    def newest(self, hint: int, mark: int) -> int:
        """Return the number of the newest record: `hint` if the folder is unchanged since its time was `mark`."""
        if hint and self.mark() == mark and self._stands(hint) and not self._stands(hint + 1):
            return hint
        return max(self._numbered(), default=0)

    def numbers(self, kind: str = "") -> list[int]:
        """Return the numbers of all records, or of one kind, ascending. Lists the folder."""
        if not kind:
            return sorted(self._numbered())
        ending = f"-{_in_names(kind)}.json"  # most names are of another kind
        named = ((number_in(name), name) for name in self._names() if name.endswith(ending))
        return sorted(seq for seq, name in named if seq is not None and name == file_name(seq, kind))

    def files(self) -> dict[int, list[str]]:
        """Return the names of all record files by number; several if a number is taken twice, the valid one first."""
        named: dict[int, list[str]] = {}
        for name in self._names():
            if (seq := number_in(name)) is not None:
                named.setdefault(seq, []).append(name)
        for seq, names in named.items():
            if len(names) > 1 and (first := self.path(seq)) is not None:
                names[:] = [first.name, *sorted({*names} - {first.name})]
        return named

    def mark(self) -> int:
        """Return the folder's modification time in nanoseconds; 0 if it is not a folder."""
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def _stands(self, seq: int) -> bool:
        return any((self.folder / file_name(seq, kind)).exists() for kind in _KINDS)

    def _listed(self) -> dict[int, str]:
        if self._listing is None:
            self._listing = self._numbered()
        return self._listing

    def _numbered(self) -> dict[int, str]:
        """Return the names now in the folder, by number, without caching them."""
        self._listing = None
        return {seq: name for name in sorted(self._names()) if (seq := number_in(name)) is not None}

    def _names(self) -> Sequence[str]:
        try:
            return os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return ()


@dataclass(slots=True)
class Reader:
    """Reader of records from the newest down; it checks each by the `prev` of the following one.

    A matching hash proves the record and its `prev`. If a record's hash differs from the `prev` of a proven one, it was
    changed after it was written. `head` is the newest record's hash in `session.json`.
    """

    shelf: RecordFolder
    head: str = ""
    losses: list[Loss] = field(default_factory=list)
    doubts: list[Loss] = field(default_factory=list)
    """Records whose hash differs from the next one's `prev` while neither is proven: both are used."""
    _claim: str = ""
    _proven: bool = False
    _next: int = -1

    def read(self, seq: int, head: str = "") -> Record | None:
        """Return a record, or None after noting its loss. Raises OSError if the system is out of files or memory."""
        claim, proven = (self._claim, self._proven) if seq == self._next else (head, bool(head))
        self._claim, self._next = "", seq - 1
        try:
            data = self.shelf.read(seq)
        except OSError as error:
            if error.errno in _PASSING:
                raise
            why, file = f"can't read record {seq}: {error.strerror}", self.shelf.path_of_no_file(seq)
            return self._lost(Loss(seq, why, file, "unreadable" if file is None else "damaged"))
        if data is None:
            return self._lost(Loss(seq, f"record {seq} is missing", None, "missing"))
        record = judge(seq, data)
        if isinstance(record, str):
            return self._lost(Loss(seq, record, self.shelf.path(seq)))
        matches = claim == digest(data)
        if claim and not matches:
            why = f"record {seq} differs from what was written (its SHA-256 differs from what record {seq + 1} says)"
            if proven:
                return self._lost(Loss(seq, why, self.shelf.path(seq)))
            self.doubts.append(Loss(seq, f"record {seq} or record {seq + 1} was changed: their chain is broken"))
        self._claim, self._proven = record.prev, matches
        return record

    def down(self, newest: int) -> Iterator[Record]:
        """Yield all usable records from `newest` down."""
        for seq in range(newest, 0, -1):
            record = self.read(seq, self.head)
            if record is not None:
                yield record

    def _lost(self, loss: Loss) -> Record | None:
        self.losses.append(loss)
        return None


def judge(seq: int, data: bytes) -> Record | str:
    """Return the record in the bytes of file number `seq`, or the reason why there is none."""
    try:
        record = decode(data)
    except Damaged as error:
        what = "is empty" if not data.strip(b"\0 \n") else f"is damaged ({error})"
        return f"record {seq} {what}"
    if record.seq != seq:
        return f"record {seq} is foreign: it says it is record {record.seq}"
    return record


def read_file(path: str | Path, folder: int | None = None) -> bytes:
    """Return the bytes of a regular file, in an open folder if given; faster than `Path`. Raises OSError."""
    file = os.open(path, _READING, dir_fd=folder)
    try:
        data = os.read(file, _AT_ONCE)
        if len(data) < _AT_ONCE and data.endswith(b"}\n"):
            return data  # complete JSON with this program's line end: no need to read more
        while more := os.read(file, os.fstat(file).st_size):
            data += more
        return data
    finally:
        os.close(file)


def tail(reader: Reader, newest: int, through: Through = iter) -> list[Record]:
    """Return the records that determine the state in force: from the newest compaction's `kept_from` on, and others it
    kept.

    The cost depends on the view: rewound records and those before `kept_from` are not read.
    """
    return list(through(_newest_first(reader, newest)))[::-1]


def _newest_first(reader: Reader, newest: int) -> Iterator[Record]:
    gone: set[int] = set()
    compaction: Compaction | None = None
    seq = newest
    while seq > 0 and (compaction is None or seq >= compaction.kept_from):
        record = reader.read(seq, reader.head if seq == newest else "")
        seq -= 1
        if record is None or record.seq in gone:
            continue
        yield record
        match record.body:
            case Undo(target, "rewind"):
                seq = min(target, seq)
            case Undo(target):
                gone.add(target)
            case Compaction(status="compressed") as body if compaction is None:
                compaction = body
    carried = compaction.kept if compaction else ()
    for number in sorted(carried, reverse=True):
        if number <= seq and (found := reader.read(number)):
            yield found

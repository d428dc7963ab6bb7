"""Index of a session's texts: a search reads only the few records that may contain a piece of text.

Each record has a row with its turn and its call ids. The row also has a Bloom filter of the three-byte pieces of its
texts, case folded.

The rows of `SEGMENT` records make a file of `recall/`. A thread builds it when the last of these records is written. It
never changes, and is rebuilt if lost or damaged. A search builds the rows of the newest records, in memory only.
"""

from __future__ import annotations

import contextlib
import math
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from agentcli.core.errors import SessionBusy
from agentcli.core.message import Message
from agentcli.core.record import Record
from agentcli.core.text.passage import Entry, Mark, Needles, OutOfTime, call_ids, folded, passages
from agentcli.sessions.storage.records import SEGMENT
from agentcli.system.disk import Disk, make_folder, write_file

LARGEST = 1_000_000
"""Bytes of text above which a record may match anything."""
_MAGIC = b"arx1"
_HEAD = struct.Struct("<4sI")
_ROW = struct.Struct("<IHHI")
_BITS_EACH = 4
_SPREAD = 2_654_435_761
_ANYTHING, _NOTHING, _SIEVE = 0, 1, 2

Load = Callable[[int], Record | None]
"""A function that reads a record by its number; None if it is lost."""


@dataclass
class RecallIndex:
    """The index of one session. `whole` returns a stored output by its path."""

    folder: Path
    disk: Disk
    whole: Callable[[str], str]
    _rows: dict[int, bytes] = field(default_factory=dict, repr=False)
    _making: Thread | None = field(default=None, repr=False)

    def make_segment(self, segment: int, load: Load) -> None:
        """Let a thread build the file of a segment, whose last record was just written, with `load`.

        That takes up to a second. Never raises: the next search builds a missing segment.
        """
        self.settle()
        making = Thread(target=self._make, args=(segment, load), name="recall")
        with contextlib.suppress(RuntimeError):  # the system has no more threads
            making.start()
            self._making = making

    def settle(self) -> None:
        """Wait for the segment that is being built."""
        if self._making is not None:
            self._making.join()
            self._making = None

    def candidates(
        self,
        newest: int,
        load: Load,
        needles: Needles,
        call_id: str = "",
        *,
        save: bool = True,
        until: float = math.inf,
    ) -> Iterator[tuple[int, int]]:
        """Yield number and turn of the records up to `newest` that may contain the needles and the call, newest first.

        With `save`, missing segments are rebuilt and written. Raises OutOfTime between two segments once
        `time.monotonic` has passed `until`.
        """
        sieve = _Sieve(needles, call_id)
        for seq, row in self._newest_first(newest, load, save=save, until=until):
            if sieve.passes(row):
                yield seq, _ROW.unpack_from(row)[0]

    def marks(
        self, newest: int, load: Load, terms: Sequence[str], *, save: bool = True, until: float = math.inf
    ) -> Iterator[Mark]:
        """Yield a mark for each record up to `newest` that has texts, newest first.

        A mark has the terms that the record may contain. Terms are texts, compared ignoring case. The rest is as in
        `candidates`.
        """
        sieve = _Sieve([[term] for term in terms])
        for seq, row in self._newest_first(newest, load, save=save, until=until):
            turn, _, kind, size = _ROW.unpack_from(row)
            if kind != _NOTHING:
                yield Mark(seq, turn, sieve.held(row), size * 8 // _BITS_EACH or LARGEST)

    def _newest_first(self, newest: int, load: Load, *, save: bool, until: float) -> Iterator[tuple[int, bytes]]:
        """Yield number and row of the records up to `newest`. Raises OutOfTime between two segments."""
        self.settle()
        newest_segment = (newest - 1) // SEGMENT + 1
        for segment in range(newest_segment, 0, -1):
            if segment < newest_segment and time.monotonic() > until:
                raise OutOfTime(segment * SEGMENT)
            rows = self._segment(segment) or self._fill(segment, load, save=save, newest=newest)
            first = (segment - 1) * SEGMENT + 1
            for number in range(min(len(rows), newest - first + 1) - 1, -1, -1):
                yield first + number, rows[number]

    def fill(self, newest: int, load: Load, *, save: bool = True) -> Iterator[float]:
        """Build the missing segments, newest first; after each, yield the finished share."""
        self.settle()
        written = {path.stem for path in self.folder.glob("*.rows")}
        missing = [
            segment
            for segment in range(newest // SEGMENT, 0, -1)
            if self._path(segment).stem not in written and not self._holds(segment)
        ]
        for done, segment in enumerate(missing, 1):
            self._fill(segment, load, save=save)
            yield done / len(missing)

    def _holds(self, segment: int) -> bool:
        """Return True if all rows of a segment are in memory, where they are built in their order."""
        return segment * SEGMENT in self._rows

    def _segment(self, segment: int) -> Sequence[bytes]:
        """Return the rows of a file; none if it is missing or damaged."""
        data = b""
        with contextlib.suppress(OSError):
            data = self._path(segment).read_bytes()
        rows = data[_HEAD.size :]
        return _split(rows) if data.startswith(_head(rows)) else ()

    def _make(self, segment: int, load: Load) -> None:
        with contextlib.suppress(OSError):  # out of file descriptors
            self._fill(segment, load, save=True)

    def _fill(self, segment: int, load: Load, *, save: bool, newest: int | None = None) -> Sequence[bytes]:
        """Return the rows of a segment, building those that are not in memory from the records."""
        first, last = (segment - 1) * SEGMENT + 1, segment * SEGMENT
        numbers = range(first, min(last, newest or last) + 1)
        turn = 0 if numbers[-1] in self._rows else self._turn_before(first, load)
        for seq in numbers:
            if seq in self._rows:
                turn = _ROW.unpack_from(self._rows[seq])[0]
                continue
            record = load(seq)
            if record is not None and isinstance(record.body, Message):
                turn = record.body.turn
            self._rows[seq] = _row(Entry(record, turn), self.whole) if record else _lost(turn)
        rows = [self._rows[seq] for seq in numbers]
        if save and len(rows) == SEGMENT and self._write(segment, b"".join(rows)):
            for seq in numbers:
                del self._rows[seq]
        return rows

    def _turn_before(self, first: int, load: Load) -> int:
        """Return the turn of the newest message before a segment."""
        for seq in range(first - 1, 0, -1):
            record = load(seq)
            if record is not None and isinstance(record.body, Message):
                return record.body.turn
        return 0

    def _write(self, segment: int, rows: bytes) -> bool:
        try:
            make_folder(self.disk, self.folder, durable=False)
            write_file(self.disk, self._path(segment), _head(rows) + rows, durable=False)
        except (OSError, SessionBusy):
            return False
        return True

    def _path(self, segment: int) -> Path:
        return self.folder / f"{segment:06d}.rows"


def shared_segments(folder: Path, seq: int) -> Sequence[Path]:
    """Return the files with rows of records only up to `seq`: a fork shares them with its source."""
    full = range(1, seq // SEGMENT + 1)
    paths = (folder / f"{segment:06d}.rows" for segment in full)
    return [path for path in paths if path.is_file()]


def _head(rows: bytes) -> bytes:
    """Return the beginning of a file with these rows, which reveals damage."""
    return _HEAD.pack(_MAGIC, zlib.crc32(rows))


def _row(entry: Entry, whole: Callable[[str], str]) -> bytes:
    found = [passage.text for passage in passages(entry, whole)]
    calls = [zlib.crc32(call.encode("utf-8", "surrogatepass")) for call in call_ids(entry.record.body)][:0xFFFF]
    kind, bits = _signature(found)
    return _ROW.pack(entry.turn, len(calls), kind, len(bits)) + struct.pack(f"<{len(calls)}I", *calls) + bits


def _lost(turn: int) -> bytes:
    """Return the row of a record that cannot be read."""
    return _ROW.pack(turn, 0, _NOTHING, 0)


def _signature(texts: Sequence[str]) -> tuple[int, bytes]:
    if not texts:
        return _NOTHING, b""
    if sum(map(len, texts)) > LARGEST:
        return _ANYTHING, b""
    pieces = _pieces(_folded("\n".join(texts)))
    size = _rounded(len(pieces) * _BITS_EACH // 8 + 1)
    bits = bytearray(size)
    for place in _places(pieces, size):
        bits[place >> 3] |= 1 << (place & 7)
    return _SIEVE, bytes(bits)


def _pieces(data: bytes) -> set[tuple[int, int, int]]:
    return set(zip(data, data[1:], data[2:], strict=False))


def _places(pieces: Iterable[tuple[int, int, int]], size: int) -> set[int]:
    """Return the bits of these pieces in a filter of `size` bytes."""
    bits = size * 8
    return {((a << 16 | b << 8 | c) * _SPREAD & 0xFFFF_FFFF) * bits >> 32 for a, b, c in pieces}


def _rounded(size: int) -> int:
    """Round a size up to four significant bits, to have few different sizes."""
    shift = max(0, size.bit_length() - 4)
    return -(-size >> shift) << shift


def _folded(text: str) -> bytes:
    return folded(text).encode("utf-8", "surrogatepass")


def _split(data: bytes) -> Sequence[bytes]:
    rows, at = [], 0
    while at + _ROW.size <= len(data):
        _, calls, _, size = _ROW.unpack_from(data, at)
        end = at + _ROW.size + 4 * calls + size
        rows.append(data[at:end])
        at = end
    return rows


class _Sieve:
    """A filter that decides by a row whether its record may match."""

    def __init__(self, needles: Needles, call_id: str = "") -> None:
        self._call = zlib.crc32(call_id.encode("utf-8", "surrogatepass")) if call_id else None
        self._wanted = [[piece for text in group for piece in _pieces(_folded(text))] for group in needles]
        self._places: dict[int, list[list[tuple[int, int]]]] = {}

    def passes(self, row: bytes) -> bool:
        _, calls, kind, size = _ROW.unpack_from(row)
        if self._call is not None and self._call not in struct.unpack_from(f"<{calls}I", row, _ROW.size):
            return False
        if kind != _SIEVE or not self._wanted:
            return bool(kind != _NOTHING)
        start = _ROW.size + 4 * calls
        places = self._places.get(size) or self._placed(size)
        return any(all(row[start + byte] & mask for byte, mask in group) for group in places)

    def held(self, row: bytes) -> int:
        """Return the alternatives that a record with texts may contain, as bits."""
        _, calls, kind, size = _ROW.unpack_from(row)
        if kind != _SIEVE:
            return (1 << len(self._wanted)) - 1
        start, held = _ROW.size + 4 * calls, 0
        for number, group in enumerate(self._places.get(size) or self._placed(size)):
            for byte, mask in group:
                if not row[start + byte] & mask:
                    break
            else:
                held |= 1 << number
        return held

    def _placed(self, size: int) -> list[list[tuple[int, int]]]:
        groups = [sorted(_places(group, size)) for group in self._wanted]
        placed = [[(place >> 3, 1 << (place & 7)) for place in group] for group in groups]
        self._places[size] = placed
        return placed

"""Write a session's files: records in order, outputs of tools, and the streaming reply, by one process at a time.

Records and outputs that the disk refuses stay in memory until it accepts them. `partial.json` is the streaming reply,
saved every second and removed once its record is written. `outputs/<call-id>.txt` are whole outputs that were truncated
for the model, and files from tools. The system releases the lock when its process dies for any reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from agentcli.core.codec.encode import LongLine, line_pieces, part_from_json, part_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import SessionBusy
from agentcli.core.message import Part, UnfinishedText
from agentcli.core.record import SCHEMA, Record
from agentcli.core.sanitise import safe_line
from agentcli.core.text.encodings import readable
from agentcli.sessions.storage.records import RecordFolder, file_name
from agentcli.system.disk import Disk, make_folder, put_file, reason, sync_folder, write_file
from agentcli.system.locked_file import FileLock, is_held

_PATIENCE = 0.3  # seconds: a process that only checks whether a session is open holds the lock briefly


class Lock:
    """An exclusive lock on `path`, from creation to `release`.

    The file itself remains: removing it would open a race.
    """

    def __init__(self, path: Path, patience: float = _PATIENCE) -> None:
        """Take the lock. Raises SessionBusy if another process holds it, OSError if the file cannot be made."""
        self._lock = _acquired(path, patience)

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        self._lock.release()


def is_locked(path: Path) -> bool:
    """Return True if a living process holds the lock."""
    return is_held(path)


def holder(path: Path) -> str:
    """Return the id of the process that took the lock last, or an empty text."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()[:20]
    except OSError:
        return ""


def _acquired(path: Path, patience: float) -> FileLock:
    until = time.monotonic() + patience
    while True:
        try:
            lock = FileLock(path, patience=max(0.0, until - time.monotonic()))
        except BlockingIOError:
            raise SessionBusy(_busy(path)) from None
        if lock.is_at(path):
            _sign(lock.file)
            return lock
        lock.release()  # the session was moved to the trash between our open and our lock


def _sign(file: int) -> None:
    """Write the holder's process id, for messages in other processes; the lock itself does not depend on it."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, os.write(file, f"{os.getpid()}\n".encode()))


def _busy(path: Path) -> str:
    who = holder(path)
    process = f" (process {who})" if who else ""
    return (
        f"Session {path.parent.name} is open for writing in another agentcli{process}. "
        f"Open it read-only with `agentcli sessions show {path.parent.name}`, "
        f"or continue in a copy with `agentcli resume {path.parent.name} --fork`."
    )


_NAME_LENGTH = 100
_ENDING = ".txt"


class Outputs:
    """Stored outputs of a session. An output that the disk refused stays in memory until it can be written."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = folder, disk
        self._unsaved: dict[str, bytes] = {}
        self._names: dict[str, str] = {}

    def add(self, call_id: str, output: str | bytes, ending: str = _ENDING) -> str:
        """Keep an output; `save` writes it to the returned path. An earlier output of the same call id remains."""
        name = self._names.get(call_id) or self._free(output_name(call_id), ending)
        self._names[call_id] = name
        self._unsaved[name] = output if isinstance(output, bytes) else output.encode("utf-8", "backslashreplace")
        return str(self._folder / name)

    def _free(self, name: str, ending: str) -> str:
        # Some servers occasionally restart the numbers of their calls.
        stem = name.removesuffix(_ENDING)
        numbered = (f"{stem}{f'-{n}' if n > 1 else ''}{ending}" for n in count(1))
        return next(each for each in numbered if not (self._folder / each).exists())

    def save(self) -> None:
        """Write the outputs that are only in memory. Raises OSError."""
        while self._unsaved:
            name, data = next(iter(self._unsaved.items()))
            make_folder(self._disk, self._folder)
            write_file(self._disk, self._folder / name, data)
            del self._unsaved[name]

    def text(self, path: str) -> str:
        """Return a stored output, or an empty text if it is gone.

        Only the name counts: sessions are moved and forked.
        """
        name = Path(path).name
        data = self._unsaved.get(name)
        if data is None:
            try:
                data = (self._folder / name).read_bytes()
            except OSError:
                return ""
        return readable(data)


def output_name(call_id: str) -> str:
    """Return a file name for a call's output: unique for each id, and never outside of the folder."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:_NAME_LENGTH]
    if safe == call_id and safe:
        return f"{safe}{_ENDING}"
    return f"{safe}-{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}{_ENDING}"


INTERVAL = 1.0
"""Seconds between two saves of a streaming reply."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as far as it had arrived. `after` is the number of the newest record when it was saved."""

    after: int
    parts: tuple[Part, ...]


_SoFar = Sequence[Part | UnfinishedText]


class Partial:
    """Saver of the streaming reply: at most once every `interval` seconds, and always its last piece."""

    def __init__(self, path: Path, disk: Disk, interval: float = INTERVAL) -> None:
        self._path, self._disk, self._interval = path, disk, interval
        self._lock = threading.Lock()
        self._due = 0.0
        self._reply: tuple[int, Callable[[], _SoFar]] | None = None
        self._timer: threading.Timer | None = None
        self._written = False

    def keep(self, after: int, parts: Callable[[], _SoFar]) -> None:
        """Take a reply after the record `after`; write it if a save is due, else start a timer for it."""
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
        parts = pending[1]() if pending else ()
        if pending is None or not parts:
            return
        self._due = time.monotonic() + self._interval
        # A streaming reply that cannot be saved is not lost yet: if the disk still fails, its record reports it.
        with contextlib.suppress(OSError):
            write_file(self._disk, self._path, _encoded(pending[0], parts))
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


def _encoded(after: int, parts: _SoFar) -> bytes | Iterator[bytes]:
    """Return a reply as JSON; in pieces, because a long one would be in memory several times."""
    written = [
        {"type": "text", "text": part} if isinstance(part, UnfinishedText) else part_to_json(part) for part in parts
    ]
    return line_pieces({"schema": SCHEMA, "after": after, "parts": written})


def _part(raw: object) -> Part | None:
    try:
        return part_from_json(raw) if isinstance(raw, dict) else None
    except (ValueError, KeyError, TypeError):
        return None


class Writer:
    """The writing end of one session's folder, which is created at the first save and locked while open.

    Tools store outputs from their own threads, so only one thread writes at a time.
    """

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        origin: bytes,
        lock: Lock | None = None,
        on_created: Callable[[], None] | None = None,
    ) -> None:
        """Prepare to write. When the folder is created, `origin` becomes `origin.json`, and `on_created` is called."""
        self._folder, self._disk, self._origin, self._lock = folder, disk, origin, lock
        self._records = folder / "records"
        self._on_created = on_created
        self.outputs = Outputs(folder / "outputs", disk)
        self._exists = self._records.is_dir()
        self._waiting: deque[tuple[Record, bytes | LongLine]] = deque()
        self._trouble = ""
        self._news = ""
        self._released = False
        self._guard = threading.RLock()

    @property
    def waiting(self) -> tuple[Record, ...]:
        """Records that are only in memory, oldest first."""
        with self._guard:
            return tuple(record for record, _ in self._waiting)

    @property
    def exists(self) -> bool:
        """True once the session has a folder."""
        return self._exists

    def add(self, record: Record, data: bytes | LongLine) -> None:
        """Remember a record; `save` writes it."""
        with self._guard:
            self._waiting.append((record, data))

    def keep_output(self, call_id: str, output: str | bytes, ending: str) -> str:
        """Save an output, in memory if the disk refuses, and return its path."""
        with self._guard:
            path = self.outputs.add(call_id, output, ending)
            self.save()
        return path

    def save(self) -> bool:
        """Write all waiting records, oldest first; return True if none waits any more.

        It never raises for a failing disk. A failed write is repeated at once from memory into a new file. After a
        failed fsync, the content of the first file is unknown.
        """
        with self._guard:
            return not self._released and self._written()

    def _written(self) -> bool:
        try:
            self._save_all()
        except OSError as error:
            try:
                self._save_all()
            except (OSError, SessionBusy) as again:
                self._trouble = _why(again)
                return False
            self._news = f"Writing to the session failed ({reason(error)}) and was made again: everything is saved."
            self._trouble = ""
            return True
        except SessionBusy as error:
            self._trouble = str(error)
            return False
        self._trouble = ""
        return True

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        """Replace a file that can be rebuilt; if the disk refuses, the old one remains."""
        with contextlib.suppress(OSError):
            write_file(self._disk, path, data, durable=durable)

    def trouble(self) -> str:
        """Return why records are only in memory; or, once, that a write was repeated; or an empty text."""
        news, self._news = self._news, ""
        return self._trouble or news

    def release(self) -> None:
        """Release the lock; outputs stored afterwards by a running tool are not written."""
        with self._guard:
            self._released = True
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _save_all(self) -> None:
        if not self._exists:
            self._make()
        if self._lock is None:
            self._lock = self._late_lock()
        self.outputs.save()  # before the results that name them
        if not self._waiting:
            return
        for record, data in self._waiting:
            put_file(self._disk, self._records / file_name(record.seq, record.kind), data)
        sync_folder(self._disk, self._records)  # once for all waiting records
        self._waiting.clear()

    def _make(self) -> None:
        make_folder(self._disk, self._folder)
        if self._lock is None:
            self._lock = Lock(self._folder / "lock")
        make_folder(self._disk, self._records, durable=False)  # synced with the next file in the same folder
        write_file(self._disk, self._folder / "origin.json", self._origin)
        self._exists = True
        if self._on_created is not None:
            self._on_created()

    def _late_lock(self) -> Lock:
        """Take the lock that was not free at first. Raises SessionBusy if another process wrote meanwhile."""
        with contextlib.ExitStack() as unfinished:
            lock = Lock(self._folder / "lock")
            unfinished.callback(lock.release)
            newest = max(RecordFolder(self._records).numbers(), default=0)
            if self._waiting and newest >= self._waiting[0][0].seq:
                raise SessionBusy("Another process has written to this session. Continue in a copy with /fork.")
            unfinished.pop_all()
        return lock


def _why(error: OSError | SessionBusy) -> str:
    if isinstance(error, SessionBusy):
        return str(error)
    place = f" ({safe_line(str(error.filename))})" if error.filename else ""
    return f"The session is not being saved: {reason(error)}{place}. It continues in memory and is written as soon as the disk accepts it."

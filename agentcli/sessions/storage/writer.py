"""Writing of encoded records in order; records that the disk refuses stay in memory until it accepts them."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from agentcli.core.errors import SessionBusy
from agentcli.core.record import Record
from agentcli.sessions.storage.disk import Disk, make_folder, put_file, reason, sync_folder, write_file
from agentcli.sessions.storage.lock import Lock
from agentcli.sessions.storage.outputs import Outputs
from agentcli.sessions.storage.records import RecordFolder, file_name


class Writer:
    """The writing end of one session's folder, which is made at the first save and locked while open.

    Tools keep outputs from their own threads, so only one thread writes at a time.
    """

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        origin: bytes,
        lock: Lock | None = None,
        on_created: Callable[[], None] | None = None,
    ) -> None:
        """Prepare to write; `origin` becomes `origin.json` when the folder is created, and `on_created` is called then."""
        self._folder, self._disk, self._origin, self._lock = folder, disk, origin, lock
        self._records = folder / "records"
        self._on_created = on_created
        self.outputs = Outputs(folder / "outputs", disk)
        self._exists = self._records.is_dir()
        self._waiting: deque[tuple[Record, bytes]] = deque()
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

    def add(self, record: Record, data: bytes) -> None:
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
        """Write all waiting records, oldest first; return True if none waits any more. Never raises for a failing disk.

        A write that failed is repeated at once from memory into a new file: after a failed fsync, the content of the
        first file is unknown.
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
        """Return why records are only in memory; or, once, that a write had to be repeated; or an empty text."""
        news, self._news = self._news, ""
        return self._trouble or news

    def release(self) -> None:
        """Release the lock; outputs that a running tool keeps afterwards are not written."""
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
    return f"The session is not being saved: {reason(error)}. It continues in memory and is written as soon as the disk accepts it."

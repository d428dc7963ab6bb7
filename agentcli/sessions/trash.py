"""Deleted sessions, until they are restored or the trash is emptied."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.errors import InputError, StoreError
from agentcli.sessions.rows import INDEX
from agentcli.sessions.storage.writer import Lock
from agentcli.system.disk import Disk, make_folder, reason, sync_folder


class Trash:
    """The folder `.trash` beside the projects, laid out like them."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self._root, self._disk = root, disk
        self.folder = root / ".trash"

    def put(self, project_id: str, session_id: str) -> None:
        """Move a session to the trash.

        Raises SessionBusy if it is open for writing, StoreError if it cannot be moved.
        """
        session = self._root / project_id / session_id
        if not session.is_dir():
            raise InputError(f"Unknown session {session_id!r}.")
        try:
            lock = Lock(session / "lock")
        except OSError as error:
            raise StoreError(f"Can't delete session {session_id}: {reason(error)}.") from error
        try:
            self._move(session, self.folder / project_id / session_id)
            with contextlib.suppress(OSError):  # it would keep the title
                self._disk.unlink(self._root / project_id / INDEX)
        finally:
            lock.release()

    def take_back(self, session_id: str) -> Path:
        """Move a session back to its project and return its folder. Raises InputError if it is not in the trash."""
        found = next((folder for folder in self.sessions() if folder.name == session_id), None)
        if found is None:
            raise InputError(f"Session {session_id!r} is not in the trash.")
        target = self._root / found.parent.name / found.name
        if target.exists():
            raise StoreError(f"{target} already exists, so the session stays in the trash.")
        self._move(found, target)
        return target

    def sessions(self) -> Sequence[Path]:
        """Return the deleted sessions' folders, last deleted first."""
        found = [path for path in self.folder.glob("*/*") if path.is_dir()]
        return sorted(found, key=_deleted, reverse=True)

    def empty(self, older_than: float = 0.0) -> Sequence[str]:
        """Permanently delete sessions that were deleted more than `older_than` seconds ago; return their ids."""
        until = time.time() - older_than
        gone = [folder for folder in self.sessions() if _deleted(folder) <= until]
        for folder in gone:
            shutil.rmtree(folder, ignore_errors=True)
        return [folder.name for folder in gone]

    def _move(self, old: Path, new: Path) -> None:
        try:
            make_folder(self._disk, new.parent)
            self._disk.rename(old, new)
            with contextlib.suppress(OSError):
                os.utime(new)
            sync_folder(self._disk, new.parent)
            sync_folder(self._disk, old.parent)
        except OSError as error:
            raise StoreError(f"Can't move {old} to {new}: {reason(error)}.") from error


def _deleted(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0

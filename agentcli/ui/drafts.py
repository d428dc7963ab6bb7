"""What is typed and not sent yet, on disk: it comes back after a crash, to the session it was typed in."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from agentcli.ui.history import Typed


@dataclass(frozen=True, slots=True)
class Draft:
    """What was typed, in which session."""

    typed: Typed
    session: str


class Drafts:
    """The draft of this process in a file of its own, locked for as long as the process lives. A disk that fails is no error."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._kept = ""

    def keep(self, text: str, session: str) -> None:
        """Have this on disk in place of what was there; an empty draft leaves nothing."""
        if text == self._kept:
            return
        value = {"text": text, "folder": str(Path.cwd()), "session": session}
        data = json.dumps(value).encode() if text else b""
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = self._open()
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, data, 0)
            self._kept = text

    def lost(self) -> list[Draft]:
        """The drafts of processes that are gone, oldest first; each is handed out once."""
        found = []
        with contextlib.suppress(OSError):
            for path in sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
                if path != self._path and (draft := _take(path)) is not None:
                    found.append(draft)
        return found

    def close(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        return self._folder / f"{os.getpid()}.json"

    def _open(self) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file


def _take(path: Path) -> Draft | None:
    """The draft in a file whose process is gone, and the file is removed; None where it lives."""
    with open(path, "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        data = stream.read()
        path.unlink(missing_ok=True)
    try:
        value = json.loads(data)
        return Draft(Typed(str(value["text"]), str(value["folder"])), str(value["session"]))
    except (ValueError, KeyError, TypeError):  # it was being written when the process died
        return None

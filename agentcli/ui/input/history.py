"""What was typed in earlier sessions, in all projects: one JSON line each, shared by all running programs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.errors import StoreError
from agentcli.sessions.storage.locked_file import add_line, lines

KEPT = 5_000


"""Prompts that are read back; the file is cut down to them when it has grown a tenth over."""


PATIENCE = 1.0


"""Seconds that a prompt waits for another program to be done with the file."""


@dataclass(frozen=True, slots=True)
class Typed:
    """One prompt and the folder it was typed in."""

    text: str
    folder: str = ""


def load_history(file: Path, kept: int = KEPT) -> list[Typed]:
    """The newest prompts, oldest first; lines that cannot be read are passed over."""
    return [typed for line in lines(file)[-kept:] if (typed := _parse(line)) is not None]


def append_history(file: Path, typed: Typed, kept: int = KEPT) -> None:
    """Remember one more. A history that cannot be written is not worth an error: nothing happens then."""
    line = json.dumps({"text": typed.text, "folder": typed.folder}, ensure_ascii=False)
    with contextlib.suppress(StoreError):
        add_line(file, line, limit=kept, patience=PATIENCE)


def _parse(line: str) -> Typed | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    return Typed(value["text"], str(value.get("folder", "")))


# MERGED agentcli.ui.drafts: What is typed and not sent yet, on disk: it comes back after a crash, to the session it was typed in.


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


# MERGED agentcli.ui.memory: What was typed, over the end of the program: earlier prompts, and the draft that a crash would take.


class Memory:
    """`folder` is where it lies; without one nothing outlives the program. Of the prompts `limit` are kept."""

    def __init__(self, folder: Path | None = None, limit: int = KEPT) -> None:
        self._file = folder / "history.jsonl" if folder else None
        self._drafts = Drafts(folder / "drafts") if folder else None
        self._limit = limit
        self._past = load_history(self._file, limit) if self._file else []

    @property
    def texts(self) -> Sequence[str]:
        """Earlier prompts of all sessions and projects, oldest first."""
        return [one.text for one in self._past]

    @property
    def newest_first(self) -> Sequence[Typed]:
        """The same the other way round, each once, with the folder that it was typed in last."""
        found: dict[str, Typed] = {}
        for one in reversed(self._past):
            found.setdefault(one.text, one)
        return list(found.values())

    def remember(self, text: str) -> None:
        """One more prompt, typed here."""
        self._add(Typed(text, str(Path.cwd())))

    def keep(self, draft: str, session: str) -> None:
        """What is being typed now, and in which session."""
        if self._drafts is not None:
            self._drafts.keep(draft if draft.strip() else "", session)

    def lost(self, session: str) -> tuple[str, bool]:
        """The draft of this session that a crash left, and whether one of another session is among the prompts now."""
        own, others = "", False
        for draft in self._drafts.lost() if self._drafts is not None else ():
            if draft.session == session and not own:
                own = draft.typed.text
            else:
                self._add(draft.typed)
                others = True
        return own, others

    def close(self) -> None:
        """No draft is left to come back."""
        if self._drafts is not None:
            self._drafts.close()

    def _add(self, typed: Typed) -> None:
        self._past.append(typed)
        if self._file is not None:
            append_history(self._file, typed, self._limit)

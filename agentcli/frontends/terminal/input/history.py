"""Prompt history of all sessions and projects (JSON Lines, shared by all processes), and crash-safe drafts."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.system.locked_file import FileLock, add_line, lines

LIMIT = 5_000
"""Maximum prompts in the history; the file is truncated to them when it exceeds them by a tenth."""


PATIENCE = 1.0
"""Time limit for the lock of the file, in seconds."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One prompt and the folder of its session."""

    text: str
    folder: str = ""


def load_history(file: Path, limit: int = LIMIT) -> list[HistoryEntry]:
    """Load the newest prompts, oldest first; invalid lines are skipped."""
    return [entry for line in lines(file)[-limit:] if (entry := _parse(line)) is not None]


def append_history(file: Path, entry: HistoryEntry, limit: int = LIMIT) -> None:
    """Append a prompt. Write errors are ignored: the history is not worth one."""
    line = json.dumps({"text": entry.text, "folder": entry.folder}, ensure_ascii=False)
    with contextlib.suppress(StoreError):
        add_line(file, line, limit=limit, patience=PATIENCE)


def _parse(line: str) -> HistoryEntry | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    return HistoryEntry(value["text"], str(value.get("folder", "")))


@dataclass(frozen=True, slots=True)
class Draft:
    """Unsent text and its session, with the messages that were queued."""

    entry: HistoryEntry
    session: str
    queue: tuple[str, ...] = ()


class Drafts:
    """Draft of this process on disk, restored to its session after a crash.

    Each process has its own file, locked while it lives. Disk errors are ignored.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # In containers processes may have equal ids, which would make a dead process's draft look like ours.
        self._path = folder / f"{os.getpid()}-{os.urandom(4).hex()}.json"
        self._lock: FileLock | None = None
        self._saved = b""

    def keep(self, text: str, session: str, folder: str, queue: Sequence[str] = ()) -> None:
        """Replace the draft on disk, with the session, its folder and the queued messages; an empty one is cleared."""
        value = {"text": text, "folder": folder, "session": session, "queue": list(queue)}
        data = json.dumps(value).encode() if text or queue else b""
        if data == self._saved:
            return
        with contextlib.suppress(OSError):
            if self._lock is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._lock = FileLock(self._path, patience=PATIENCE)
            os.ftruncate(self._lock.file, 0)
            os.pwrite(self._lock.file, data, 0)
            self._saved = data

    def lost(self) -> list[Draft]:
        """Take the drafts of dead processes, oldest first; each is returned once."""
        found = []
        for path in sorted(self._folder.glob("*.json"), key=_written):
            with contextlib.suppress(OSError):
                if path != self._path and (draft := _take(path)) is not None:
                    found.append(draft)
        return found

    def close(self) -> None:
        """Delete the file."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._lock.release()
            self._lock = None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _take(path: Path) -> Draft | None:
    """Read and remove the draft of a dead process; None if the process lives, or another has taken it. Raises OSError."""
    with FileLock(path, make=False, patience=0) as lock:
        if not lock.is_at(path) or (not lock.guards and _lives(path)):
            return None
        with open(lock.file, "rb", closefd=False) as stream:
            data = stream.read()
        path.unlink()
    try:
        value = json.loads(data)
        entry = HistoryEntry(str(value["text"]), str(value["folder"]))
        return Draft(entry, str(value["session"]), tuple(map(str, value.get("queue", ()))))
    except (ValueError, KeyError, TypeError, RecursionError):  # it was being written when the process died
        return None


def _lives(path: Path) -> bool:
    """Return True if the process in the draft's file name may be alive. Used only if the file system has no locks."""
    number = path.name.partition("-")[0].removesuffix(".json")
    if not number.isdecimal() or int(number) == os.getpid():
        return False
    from agentcli.system.process import may_live  # only on file systems without locks

    return may_live(int(number))


class Memory:
    """Prompts and draft of this process, stored in `folder`; without it they last as long as the process.

    `limit`: prompts in the history.
    """

    def __init__(self, folder: Path | None = None, limit: int = LIMIT) -> None:
        self._file = folder / "history.jsonl" if folder else None
        self._drafts = Drafts(folder / "drafts") if folder else None
        self._limit = limit
        self._past = load_history(self._file, limit) if self._file else []

    @property
    def texts(self) -> Sequence[str]:
        """Prompts of all sessions and projects, oldest first."""
        return [one.text for one in self._past]

    @property
    def newest_first(self) -> Sequence[HistoryEntry]:
        """Distinct prompts, newest first, each with its latest folder."""
        found: dict[str, HistoryEntry] = {}
        for one in reversed(self._past):
            found.setdefault(one.text, one)
        return list(found.values())

    def remember(self, text: str, folder: str | Path) -> None:
        """Add a prompt, with the folder of its session."""
        self._add(HistoryEntry(text, str(folder)))

    def keep(self, draft: str, session: str, folder: str | Path, queue: Sequence[str] = ()) -> None:
        """Save the current draft and the queued messages with their session and its folder."""
        if self._drafts is not None:
            self._drafts.keep(draft if draft.strip() else "", session, str(folder), queue)

    def lost(self, session: str) -> tuple[str, bool, Sequence[str]]:
        """Return this session's draft from a crash, and its queue.

        Add other sessions' texts to the prompts; return True if there were any.
        """
        own, others, queue = "", False, list[str]()
        for draft in self._drafts.lost() if self._drafts is not None else ():
            if draft.session == session and not own:
                own, queue = draft.entry.text, [*queue, *draft.queue]
                continue
            for text in filter(None, (draft.entry.text, *draft.queue)):
                self._add(HistoryEntry(text, draft.entry.folder))
                others = True
        return own, others, queue

    def close(self) -> None:
        """Delete the draft."""
        if self._drafts is not None:
            self._drafts.close()

    def _add(self, entry: HistoryEntry) -> None:
        self._past.append(entry)
        del self._past[: -self._limit]
        if self._file is not None:
            append_history(self._file, entry, self._limit)

"""`transcript.jsonl`: a session's messages for hooks, one a line, in Claude Code's form."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any
from weakref import finalize

from agentcli.core.journal import Journal
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Record
from agentcli.features.hooks.names import foreign_call
from agentcli.system import probe
from agentcli.system.process import may_live

NAME = "transcript.jsonl"
_PREFIX = "agentcli-transcript-"
_OLD = 86_400
"""Seconds after which the transcript of a process that is gone is removed: the process may be in another namespace."""


class Transcript:
    """Transcript of one open session; written only when a hook is about to run.

    It is in the session's folder, or in a temporary file for a session that is not stored.
    """

    def __init__(self, journal: Journal, cwd: Path) -> None:
        self._journal, self._cwd = journal, cwd
        self._path = journal.folder / NAME if journal.folder is not None else None
        self._remove: Callable[[], object] | None = None
        self._closed = False
        self._written = 0

    def update(self) -> str:
        """Write the messages that are not in it yet; return its path. The path is empty if the file is not writable.

        Before a session's first record there is no folder for it: the path is its future one. Once closed, a session
        that is not stored has none.
        """
        try:
            if self._path is None:
                if self._closed:
                    return ""
                _sweep(Path(tempfile.gettempdir()))
                handle, name = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=".jsonl")
                os.close(handle)
                self._path = Path(name)
                self._remove = finalize(self, _remove, self._path)  # at the latest, if the session is never closed
            newest = self._journal.history.last_seq
            if self._written < newest or not probe.exists(self._path):
                self._write(self._path, newest)
        except FileNotFoundError:
            pass
        except OSError:
            return ""
        return str(self._path or "")

    def close(self) -> None:
        """Remove it if the session is not stored."""
        self._closed = True
        if self._remove is not None:
            self._remove()
            self._path = self._remove = None

    def _write(self, path: Path, newest: int) -> None:
        anew = not self._written or not probe.exists(path)
        known = 0 if anew else self._written
        newest_first = takewhile(lambda record: record.seq > known, self._journal.records(newest_first=True))
        fresh = [*newest_first][::-1]
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_TRUNC if anew else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            for record in fresh:
                for line in transcript_lines(record, self._journal.id, self._cwd):
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._written = newest


def _sweep(top: Path) -> None:
    """Remove the old transcripts of killed processes."""
    for left in top.glob(f"{_PREFIX}*.jsonl"):
        process = left.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            if process.isdecimal() and left.lstat().st_mtime < time.time() - _OLD and not may_live(int(process)):
                left.unlink()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def transcript_lines(record: Record, session: str, cwd: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of one record; none for a record that is not a message."""
    head = {"sessionId": session, "cwd": str(cwd), "timestamp": record.time, "uuid": f"{session}-{record.seq}"}
    match record.body:
        case Message(role, parts):
            content = [block for part in parts for block in _block(part, cwd)]
            yield {"type": role, **head, "message": {"role": role, "content": content}}
        case ToolResult() as result:
            block = {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": result.output,
                "is_error": result.failed,
            }
            yield {"type": "user", **head, "message": {"role": "user", "content": [block]}}
        case _:
            return


def _block(part: Part, cwd: Path) -> Iterator[Mapping[str, Any]]:
    match part:
        case Text(synthetic=True, source="" | "reminder"):
            return  # agentcli's reminders come from neither the user nor the model
        case Text(text):
            yield {"type": "text", "text": text}
        case Thinking(text):
            yield {"type": "thinking", "thinking": text}
        case ToolCall():
            name, given = foreign_call(part, "claude", cwd)
            yield {"type": "tool_use", "id": part.call_id, "name": name, "input": given}
        case File(_, path, text):
            yield {"type": "text", "text": f"{path}\n{text}"}
        case Image(mime, _, path):
            yield {"type": "text", "text": f"[{mime} image {path}]"}

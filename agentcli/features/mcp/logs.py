"""Log files for the stderr of MCP servers, one per server."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import TextIO

from agentcli.system.paths import folder

LOG_BYTES = 1_000_000
"""Bytes of a log from which it is emptied when its server starts."""


_TRAILER = re.compile(r"npm (?:error|ERR!)|Node\.js v\d")
"""Beginning of the last line of npm and of Node.js, which does not explain what happened."""
_ERROR = re.compile(r"npm (?:error|ERR!) (?!code |A complete log)\S+ .|(?:Uncaught )?(?:\w+\.)*\w*Error\b.*: ")


def telling_line(text: str) -> str:
    """Return the output line that explains what happened. That is the last one, or the first error of npm or Node.js."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    named = (line for line in lines if _ERROR.match(line)) if _TRAILER.match(lines[-1]) else ()
    return next(iter(named), lines[-1])[:200]


class ServerLogs:
    """Log files in a folder, or in a temporary one that `close` removes."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def path(self, server: str) -> Path:
        """Return the path of a server's log."""
        if self._place is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="agentcli-mcp-")
            self._place = Path(self._temporary.name)
        return self._place / f"mcp-{server}.log"

    def open(self, server: str) -> TextIO:
        """Open the log for appending. If the folder is not writable, open the null device."""
        path = self.path(server)
        try:
            folder(path.parent)
            fresh = os.O_TRUNC if self.size(server) > LOG_BYTES else 0
            return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags | fresh, 0o600))
        except OSError:
            return open(os.devnull, "w", encoding="utf-8")

    def size(self, server: str) -> int:
        """Return the size of the log in bytes."""
        try:
            return self.path(server).stat().st_size
        except OSError:
            return 0

    def tail(self, server: str, start: int = 0, most: int = 2_000) -> str:
        """Return the end of the log after byte `start`, at most `most` bytes."""
        try:
            with open(self.path(server), "rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(start if start <= size else 0, size - most))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self._temporary.cleanup()

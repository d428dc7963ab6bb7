"""Log in a file, with secrets masked: only the front end may write to the terminal."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from copy import copy
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType

from agentcli.core.text.secrets import known_secrets, mask
from agentcli.system.paths import AppDirs, folder
from agentcli.system.tracebacks import error_text, traceback_text

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

LOG = "agentcli.log"
"""File in the state folder."""
LOG_BYTES = 1_000_000
"""A longer log is renamed when a run begins; one older log is kept."""


def log_to(dirs: AppDirs, env: Mapping[str, str], *, enabled: bool = True) -> None:
    """Send warnings and errors to `agentcli.log` in the state folder, created with the first message.

    Without `enabled`, or if the file cannot be written, messages are dropped.
    """
    handler: logging.Handler = _handler(dirs, env) if enabled else logging.NullHandler()
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)


def log_library_to(dirs: AppDirs, env: Mapping[str, str], name: str) -> None:
    """Send one library's log to the same file; without a handler Python would print it on stderr."""
    if not (logger := logging.getLogger(name)).handlers:
        logger.addHandler(_handler(dirs, env))


def _handler(dirs: AppDirs, env: Mapping[str, str]) -> logging.Handler:
    handler = _Log(dirs.state / LOG)
    handler.setFormatter(Masking(known_secrets(env)))
    return handler


class Masking(logging.Formatter):
    """Formatter that masks every line of a log, including tracebacks.

    A handler calls it, so logging keeps its errors from the library's caller.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._known = tuple(known)

    def format(self, record: logging.LogRecord) -> str:
        """Return the masked line. Raise the errors of formatting the message."""
        shown = copy(record)
        if isinstance(record.args, tuple):
            shown.args = tuple(
                _Told(one, self._known) if isinstance(one, BaseException) else one for one in record.args
            )
        if record.name == "asyncio":
            shown.msg = str(record.msg).partition("\n")[0]  # the other lines show objects, with their values
        return mask(super().format(shown), self._known)

    def formatException(self, ei: ExcInfo) -> str:
        """Return the traceback without the values in its messages."""
        return traceback_text(ei[1], self._known).rstrip("\n") if ei[1] is not None else ""


class _Told:
    """An error in a message, written without the values that it quotes, with `%s` as well as with `%r`."""

    def __init__(self, error: BaseException, known: Iterable[str]) -> None:
        self._text = error_text(error, known)

    def __repr__(self) -> str:
        return self._text


class _Log(logging.FileHandler):
    """A log for its owner alone."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        folder(path.parent)
        with contextlib.suppress(OSError):
            if path.stat().st_size > LOG_BYTES:
                path.replace(path.with_suffix(".log.1"))
        return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or nothing if the folder is not writable."""
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Report no error: stderr belongs to the front end."""

"""Logging to a file, secrets masked: nothing but the front end may write to the terminal."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from pathlib import Path

from agentcli.core.text.secrets import known_secrets, mask
from agentcli.paths import AppDirs, folder

LOG_BYTES = 1_000_000
"""A longer log is put aside when a run begins; one former log is kept."""


def log_to(dirs: AppDirs, env: Mapping[str, str], *, enabled: bool = True) -> None:
    """Send warnings and errors to `agentcli.log` in the state folder, which is made when there is something to say.

    What is not `enabled`, or cannot be written, is dropped.
    """
    handler: logging.Handler = _handler(dirs, env) if enabled else logging.NullHandler()
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)


def log_library_to(dirs: AppDirs, env: Mapping[str, str], name: str) -> None:
    """Send what one library logs to the same file: to stderr, as Python does without a handler, goes nothing of it."""
    if not (logger := logging.getLogger(name)).handlers:
        logger.addHandler(_handler(dirs, env))


def _handler(dirs: AppDirs, env: Mapping[str, str]) -> logging.Handler:
    handler = _Log(dirs.state / "agentcli.log")
    handler.addFilter(Masking(known_secrets(env)))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    return handler


class Masking(logging.Filter):
    """Masks every message that passes a handler, its traceback too."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__()
        self._known = tuple(known)

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message by its masked form and let it pass."""
        record.msg, record.args = mask(record.getMessage(), self._known), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = mask(record.exc_text, self._known)
        return True


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
        """Write a line; a folder that cannot be written means no log."""
        with contextlib.suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Nobody is told: stderr belongs to the front end."""

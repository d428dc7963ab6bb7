"""Log in a file, and tracebacks for people.

Secrets are masked, and only the front end may write to the terminal.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from io import TextIOWrapper
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from agentcli.core.text.secrets import known_secrets, mask
from agentcli.system import probe
from agentcli.system.paths import AppDirs, folder

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
    """An error in a log message, without the values that it quotes. `%s` and `%r` write the same text."""

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


LEFT_OUT = "…"
"""Takes the place of a value in a message."""
_QUOTED = re.compile(r"""(?P<quote>['"`])(?P<inside>.*?)(?P=quote)""", re.DOTALL)
_SHORTEST = 8
"""Minimum characters of an argument or variable that is removed from a message even without quotes."""


def print_error(error: BaseException | None, trace: TracebackType | None) -> None:
    """Print an error to stderr like `traceback_text`, without the arguments and variables of this process."""
    if error is not None:
        sys.stderr.write(traceback_text(error.with_traceback(trace), _outside()))


def traceback_text(error: BaseException, given: Iterable[str] = ()) -> str:
    """Return the traceback of an error and of its causes. Values in `given` are removed even without quotes."""
    return "".join(_told(error, tuple(given), set()))


def error_text(error: BaseException, given: Iterable[str] = ()) -> str:
    """Return the kind of an error and its message, without the values in it."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = _without_values(str(error), _names(error.__traceback__), tuple(given))
    return f"{name}: {message}" if message else name


def _outside() -> Iterator[str]:
    """Yield the arguments and variables of this process, except names of existing files and folders."""
    for value in (*sys.argv[1:], *os.environ.values()):
        if len(value) >= _SHORTEST and not probe.exists(value):
            yield value


def _told(error: BaseException, given: tuple[str, ...], seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and id(cause) not in seen:
        yield from _told(cause, given, seen)
        how = "was the direct cause of" if error.__cause__ else "was being handled during"
        yield f"\nThe error above {how} this one:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{error_text(error, given)}\n"
    for note in getattr(error, "__notes__", ()):
        yield f"{_without_values(note, set(), given)}\n"
    for one in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        if id(one) not in seen:
            yield from _told(one, given, seen)


def _without_values(message: str, known: set[str], given: tuple[str, ...]) -> str:
    """Return the message without quoted values.

    A quoted text stays only if the program's own code contains its words, or a file has that name.
    """

    def of(match: re.Match[str]) -> str:
        inside = match["inside"]
        kept = set(inside.split(".")) <= known or (os.path.isabs(inside) and probe.exists(inside))
        return match[0] if kept else f"{match['quote']}{LEFT_OUT}{match['quote']}"

    for value in sorted(set(given), key=len, reverse=True):
        message = message.replace(value, LEFT_OUT)
    return mask(_QUOTED.sub(of, message))


def _names(trace: TracebackType | None) -> set[str]:
    """Return the names and texts in the code through which the error passed, and Python's own."""
    found = {*dir(builtins), *sys.modules, "NoneType"}
    while trace is not None:
        found |= _words(trace.tb_frame.f_code)
        trace = trace.tb_next
    return found


def _words(code: CodeType) -> set[str]:
    constants: Iterable[Any] = code.co_consts
    return {*code.co_names, *code.co_varnames, code.co_name, *(one for one in constants if isinstance(one, str))}

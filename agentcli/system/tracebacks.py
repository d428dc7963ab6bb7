"""Tracebacks without values: where an error arose and of which kind, without the arguments, settings and answers that
its message quotes.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import CodeType, TracebackType
from typing import Any

from agentcli.core.text.secrets import mask
from agentcli.system import probe

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
    """Return the message; keep a quoted text only if the program's own code contains its words, or a file has that
    name.
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

"""Output of commands: tables, JSON, and long texts through the user's pager."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

from agentcli.core.sanitise import safe, safe_line

T = TypeVar("T")


def say(text: str = "") -> None:
    """Print text that may come from outside."""
    print(safe(text))


def say_json(value: Any) -> None:
    """Print a value for scripts; on a terminal all that is not ASCII is spelled out."""
    print(json.dumps(value, indent=2, ensure_ascii=sys.stdout.isatty()))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None) -> str:
    """Rows under a head, columns aligned; the last column is cut where the terminal ends. Numbers go to the right."""
    limit = width or shutil.get_terminal_size((120, 24)).columns
    columns = [_column(name, [row[n] for row in rows]) for n, name in enumerate(head)]
    return "\n".join("  ".join(cells).rstrip()[:limit] for cells in zip(*columns, strict=True))


def _column(head: str, values: Sequence[Any]) -> list[str]:
    cells = [head, *map(_cell, values)]
    wide = max(map(len, cells))
    numeric = bool(values) and all(isinstance(value, int | float) for value in values)
    return [cell.rjust(wide) if numeric else cell.ljust(wide) for cell in cells]


def _cell(value: Any) -> str:
    match value:
        case str():
            return safe_line(value)
        case None:
            return ""
        case float():
            return f"{value:,.4f}"
        case int():
            return f"{value:,}"
        case _:
            return safe_line(str(value))


class Progress:
    """Context manager that shows the progress of long work in one line of a terminal, removed at the end.

    `clock` gives seconds. Nothing is written to a stream that is no terminal.
    """

    AFTER = 0.5
    """Seconds without a line: short work shows none."""
    EVERY = 0.1
    """Seconds between two lines."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._next = clock() + self.AFTER
        self._visible = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def through(self, things: Iterable[T], total: int = 0) -> Iterator[T]:
        """Yield the same things, counted as they pass; `total`: their number where it is known."""
        for number, thing in enumerate(things, 1):
            if self._stream.isatty() and self._clock() >= self._next:
                self._visible = True
                self._next = self._clock() + self.EVERY
                self._replace_line(f"{number:,} of {total:,} done" if total else f"{number:,} found")
            yield thing

    def end(self) -> None:
        """Remove the line."""
        if self._visible:
            self._visible = False
            self._replace_line("")

    def _replace_line(self, text: str) -> None:
        print(f"\r\x1b[K{text}", end="", file=self._stream, flush=True)


DEFAULT = "less"
LESS = "FRX"
"""Flags of `less` where the user sets none: leave short texts on the screen, as git has it."""


def page(texts: Iterable[str], env: Mapping[str, str] = os.environ) -> None:
    """Print texts as they come: on a terminal through the user's pager, anywhere else plainly. They must be safe for a terminal."""
    command = env.get("PAGER", DEFAULT).strip()
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or not _is_there(command):
        for text in texts:
            print(text)
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's while it runs
    try:
        _through(command, texts, {"LESS": LESS, **env})
    finally:
        signal.signal(signal.SIGINT, before)


def _through(command: str, texts: Iterable[str], env: Mapping[str, str]) -> None:
    import subprocess

    pager = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env=env)
    assert pager.stdin is not None
    try:
        for text in texts:
            pager.stdin.write((text + "\n").encode("utf-8", "replace"))
        pager.stdin.close()
    except BrokenPipeError:
        pass  # the person has seen enough
    finally:
        pager.wait()


def _is_there(command: str) -> bool:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and shutil.which(words[0]) is not None

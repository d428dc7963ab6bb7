"""Commands that the person runs with ! in the terminal."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import Text
from agentcli.core.programs import find_program, search_path
from agentcli.tools.lib.process import Command, run_until

OUTPUT = 30_000
"""Characters kept of an output, half from each end."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that is over; its output may be cut in the middle."""

    command: str
    output: str
    code: int
    interrupted: bool = False


async def run(command: str, folder: Path, show: Callable[[str], None], interrupt: asyncio.Event) -> Ran:
    """Run a shell command in a folder, showing what it prints; an interrupt ends it with everything it started.

    Raises InputError where there is nothing to run, or no shell to run it.
    """
    if not command:
        raise InputError("There is no command after the mark. Say one: !git status")
    shell = os.environ.get("SHELL") or "/bin/sh"
    program = find_program(shell, [folder])
    if not program:
        raise InputError(f"{shell} could not be started. Set SHELL to a shell that is there, outside this folder.")
    heard = _Heard(show)
    env = {**os.environ, "PATH": search_path()}
    ended = await run_until(interrupt, Command([program, "-c", command], folder, env, leaves=True), heard)
    heard.close()
    return Ran(command, heard.kept.text, -1 if ended.exit_code is None else ended.exit_code, interrupt.is_set())


def as_text(ran: Ran) -> Text:
    """What the model is told of it with the next prompt."""
    return Text(f"$ {ran.command}\n{ran.output}\n(exit code {ran.code})", synthetic=True, source="shell")


class _Kept:
    """The beginning and the end of a text of any length."""

    def __init__(self) -> None:
        self._head, self._tail, self._cut = "", "", 0

    def add(self, text: str) -> None:
        room = OUTPUT // 2 - len(self._head)
        self._head += text[:room]
        self._tail += text[room:] if room < len(text) else ""
        extra = max(len(self._tail) - OUTPUT // 2, 0)
        self._tail, self._cut = self._tail[extra:], self._cut + extra

    @property
    def text(self) -> str:
        middle = f"\n… {self._cut:,} characters left out …\n" if self._cut else ""
        return self._head + middle + self._tail


class _Heard:
    """Takes what a command prints: shown at once, and kept."""

    enough = 0

    def __init__(self, show: Callable[[str], None]) -> None:
        self.kept = _Kept()
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece; it may end within a character."""
        self._tell(self._decoder.decode(piece))

    def close(self) -> None:
        """Nothing more comes."""
        self._tell(self._decoder.decode(b"", final=True))

    def _tell(self, text: str) -> None:
        if text:
            self.kept.add(text)
            self._show(text)

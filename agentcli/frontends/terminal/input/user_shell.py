"""Shell commands of the user (`!command`)."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.message import Text, shell_text
from agentcli.core.text.terminal import Screen
from agentcli.core.tool import Boxed
from agentcli.system.process import Command, run_until
from agentcli.system.programs import find_program, search_path

OUTPUT = 30_000
"""Characters kept of an output, half from each end."""


StartedAs = Callable[[str, Sequence[str]], Boxed]
"""How a command starts: (command, argv of its shell)."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of a command; its output may be truncated in the middle."""

    command: str
    output: str
    code: int
    interrupted: bool = False


async def run(
    command: str,
    folder: Path,
    show: Callable[[str], None],
    interrupt: asyncio.Event,
    started_as: StartedAs | None = None,
) -> Ran:
    """Run a shell command in a folder and show its output; an interrupt ends its whole process tree.

    Raises InputError for an empty command or a missing shell, and the errors of `started_as`.
    """
    if not command:
        raise InputError("No command after the !. Example: !git status")
    shell = os.environ.get("SHELL") or "/bin/sh"
    program = find_program(shell, [folder])
    if not program:
        raise InputError(f"{shell} could not be started. Set SHELL to an installed shell outside this folder.")
    sink = _OutputSink(show)
    env = {**os.environ, "PATH": search_path()}
    argv = [program, "-c", command]
    boxed = await asyncio.to_thread(started_as, command, argv) if started_as is not None else Boxed(argv)
    prepared = Command(argv, folder, env, leaves=True).within(boxed)
    ended = await run_until(interrupt, prepared, sink)
    sink.close()
    return Ran(command, sink.output.text, -1 if ended.exit_code is None else ended.exit_code, interrupt.is_set())


def as_text(ran: Ran) -> Text:
    """Return the message to the model with the command and its output."""
    return shell_text(ran.command, ran.output, ran.code)


class _TruncatedText:
    """Buffer that truncates the middle of a long text."""

    def __init__(self) -> None:
        self._head, self._tail, self._cut = "", "", 0

    def add(self, text: str) -> None:
        free = OUTPUT // 2 - len(self._head)
        self._head += text[:free]
        self._tail += text[free:] if free < len(text) else ""
        extra = max(len(self._tail) - OUTPUT // 2, 0)
        self._tail, self._cut = self._tail[extra:], self._cut + extra

    @property
    def text(self) -> str:
        middle = f"\n… {self._cut:,} characters left out …\n" if self._cut else ""
        return self._head + middle + self._tail


class _OutputSink:
    """Output sink: decodes and shows the output, and stores its final appearance on a terminal."""

    enough = 0

    def __init__(self, show: Callable[[str], None]) -> None:
        self.output = _TruncatedText()
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = Screen()

    def add(self, piece: memoryview, skipped: int) -> None:
        """Add a chunk, which may end within a character."""
        self._write(self._decoder.decode(piece))

    def close(self) -> None:
        """Decode the rest at the end of the output."""
        self._write(self._decoder.decode(b"", final=True))
        self.output.add(self._screen.end())

    def _write(self, text: str) -> None:
        if text:
            self.output.add(self._screen.feed(text))
            self._show(text)

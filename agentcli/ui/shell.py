"""Commands that the person runs with ! in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import Text

OUTPUT = 30_000
"""Characters kept of an output, half from each end."""
GRACE = 1.0
"""Seconds between asking a command to end and making it."""


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
    try:
        process = await asyncio.create_subprocess_exec(
            shell, "-c", command, cwd=folder, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise InputError(
            f"{shell} could not be started in {folder}: {error}. Set SHELL to a shell that is there."
        ) from error
    kept = _Kept()
    reading = asyncio.create_task(_read(process, kept, show))
    ended = asyncio.create_task(process.wait())
    stopped = asyncio.create_task(interrupt.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(process)
        stopped.cancel()
        # A background child may hold the pipe open for ever: what it prints later is not waited for.
        await asyncio.wait({reading}, timeout=0.2)
        reading.cancel()
    return Ran(command, kept.text, await ended, interrupt.is_set())


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


async def _read(process: asyncio.subprocess.Process, kept: _Kept, show: Callable[[str], None]) -> None:
    assert process.stdout is not None
    while data := await process.stdout.read(65536):
        text = data.decode(errors="replace")
        kept.add(text)
        show(text)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
                return

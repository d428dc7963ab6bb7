"""Runs the user's own commands at certain moments; whatever they do, the session goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Hooks:
    """The commands from the user's config. Each gets one JSON object on stdin and is stopped after `timeout` seconds;
    of what it prints, `output` bytes are looked at."""

    pre_compress: str = ""
    timeout: float = 30.0
    output: int = 4_000
    cwd: Path | None = None

    async def before_compression(
        self,
        trigger: Literal["manual", "auto"],
        session: str,
        transcript: Path | None,
        interrupt: asyncio.Event | None = None,
        **more: Any,
    ) -> str:
        """Let the user save a copy first. Returns a warning when the hook failed, else an empty text; never raises for it.

        An interrupt ends it at once.
        """
        if not self.pre_compress:
            return ""
        told = {
            "hook": "PreCompress",
            "trigger": trigger,
            "session_id": session,
            "transcript_path": str(transcript) if transcript else None,
            **more,
        }
        return await self._run("PreCompress", self.pre_compress, told, interrupt or asyncio.Event())

    async def _run(self, name: str, command: str, told: Mapping[str, Any], interrupt: asyncio.Event) -> str:
        try:
            process = await asyncio.create_subprocess_shell(
                command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=self.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"The hook {name} could not be started: {error}"
        assert process.stdout
        reading = asyncio.create_task(_read(process.stdout, self.output))
        telling = asyncio.create_task(_tell(process, json.dumps(told).encode()))
        stop = asyncio.create_task(interrupt.wait())
        try:
            await asyncio.wait((telling, stop), timeout=self.timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late = not telling.done()
            for task in (telling, stop):
                task.cancel()
            said = await _end(process, reading)
            await asyncio.gather(telling, stop, return_exceptions=True)
        if interrupt.is_set():
            return ""
        if late:
            return f"The hook {name} was stopped after {self.timeout:g} seconds."
        if process.returncode:
            return f"The hook {name} failed with exit status {process.returncode}: {said}".rstrip(": ")
        return ""


_LOOK = 0.02
"""Seconds between two looks at whether a hook has exited."""
_LAST_WORDS = 1.0
"""Seconds for output that is still on its way when the hook and its children are gone."""


async def _tell(process: asyncio.subprocess.Process, told: bytes) -> None:
    """Give it its input and wait until it has exited."""
    assert process.stdin
    # A hook that does not read its input is no failure.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(told)
        await process.stdin.drain()
    process.stdin.close()
    await _exited(process)


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """The first bytes that come; the rest is read and thrown away, so that the writer is not held up."""
    kept = b""
    while piece := await stream.read(65_536):
        kept = (kept + piece)[:most]
    return kept


async def _end(process: asyncio.subprocess.Process, reading: asyncio.Task[bytes]) -> str:
    """Leave nothing of the hook running, and return what it said."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await _exited(process)
    await asyncio.wait((reading,), timeout=_LAST_WORDS)
    if not reading.done():
        reading.cancel()
        return ""
    return reading.result().decode("utf-8", "replace").strip()


async def _exited(process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the pipes too, which a child left behind may hold open
        await asyncio.sleep(_LOOK)

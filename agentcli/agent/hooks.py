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
        self, trigger: Literal["manual", "auto"], session: str, transcript: Path | None, **more: Any
    ) -> str:
        """Let the user save a copy first. Returns a warning when the hook failed, else an empty text; never raises for it."""
        if not self.pre_compress:
            return ""
        told = {
            "hook": "PreCompress",
            "trigger": trigger,
            "session_id": session,
            "transcript_path": str(transcript) if transcript else None,
            **more,
        }
        return await self._run("PreCompress", self.pre_compress, told)

    async def _run(self, name: str, command: str, told: Mapping[str, Any]) -> str:
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
        try:
            said = await asyncio.wait_for(self._talk(process, json.dumps(told).encode()), self.timeout)
        except TimeoutError:
            return f"The hook {name} was stopped after {self.timeout:g} seconds."
        finally:
            await _end(process)
        if process.returncode:
            return f"The hook {name} failed with exit status {process.returncode}: {said}".rstrip(": ")
        return ""

    async def _talk(self, process: asyncio.subprocess.Process, told: bytes) -> str:
        """Give it its input and read until it has exited; a child that it leaves behind may hold the pipe, and is not waited for."""
        assert process.stdin
        assert process.stdout
        reading = asyncio.create_task(_read(process.stdout, self.output))
        # A hook that does not read its input is no failure.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(told)
            await process.stdin.drain()
        process.stdin.close()
        try:
            await process.wait()
            await asyncio.wait((reading,), timeout=_LAST_WORDS)
        finally:
            reading.cancel()
        said = reading.result() if reading.done() and not reading.cancelled() else b""
        return said.decode("utf-8", "replace").strip()


_LAST_WORDS = 0.2
"""Seconds for output that is still on its way when the hook has exited."""


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """The first bytes that come; the rest is read and thrown away, so that the writer is not held up."""
    kept = b""
    while piece := await stream.read(65_536):
        kept = (kept + piece)[:most]
    return kept


async def _end(process: asyncio.subprocess.Process) -> None:
    """Nothing of the hook is left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

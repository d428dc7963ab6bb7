"""Runs the user's own commands at certain moments; whatever they do, the session goes on."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentcli.core.errors import AgentError
from agentcli.tools._process import Command, run_until


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
        said = _Beginning(self.output)
        try:
            ordered = Command(["/bin/sh", "-c", command], self.cwd or Path.cwd(), os.environ, json.dumps(told))
            ended = await run_until(interrupt, ordered, said, self.timeout)
        except (OSError, AgentError) as error:
            return f"The hook {name} could not be started: {error}"
        if interrupt.is_set():
            return ""
        if ended.why == "timeout":
            return f"The hook {name} was stopped after {self.timeout:g} seconds."
        if ended.exit_code:
            return f"The hook {name} failed with exit status {ended.exit_code}: {said.text}".rstrip(": ")
        return ""


class _Beginning:
    """The first bytes that come; the rest is read and thrown away, so that the writer is not held up."""

    def __init__(self, most: int) -> None:
        self.enough = 0
        self._most, self._kept = most, b""

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece of output."""
        self._kept = (self._kept + bytes(piece[: self._most]))[: self._most]

    @property
    def text(self) -> str:
        """What was kept."""
        return self._kept.decode("utf-8", "replace").strip()

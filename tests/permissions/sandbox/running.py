"""Runs commands in a sandbox as the program does, with their two outputs apart."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.tool import Boxed
from agentcli.permissions.sandbox import Sandbox, detect
from agentcli.permissions.sandbox.choose import Kind
from agentcli.system.process import Command, LimitedSink, run

_MOST = 50_000_000
_SECONDS = 60.0


def sandbox_of(kind: Kind) -> Sandbox:
    """Return the sandbox of this kind; the test is skipped where it does not work."""
    found = detect() if kind == "bubblewrap" else detect(path="/nowhere")
    if found.kind != kind:
        pytest.skip(f"no {kind} here: {found.why}")
    return found


def preceded(words: Sequence[str], boxed: Boxed) -> Boxed:
    """Return a command whose sandbox is started by other words."""
    again = boxed.again
    rebuilt = None if again is None else lambda part: preceded(words, again(part))
    return replace(boxed, argv=[*words, *boxed.argv], again=rebuilt)


def completed(
    boxed: Boxed, cwd: Path, env: Mapping[str, str], seconds: float = _SECONDS
) -> subprocess.CompletedProcess[str]:
    """Return the end of a command, which may take so many seconds."""

    async def story() -> subprocess.CompletedProcess[str]:
        output, errors = LimitedSink(_MOST), LimitedSink(_MOST)
        ended = await run(Command((), cwd, env, errors=errors).within(boxed), output, seconds, None)
        assert ended.why == "exit"
        code = -1 if ended.exit_code is None else ended.exit_code
        texts = (sink.data.decode(errors="replace") for sink in (output, errors))
        return subprocess.CompletedProcess(boxed.argv, code, *texts)

    return asyncio.run(story())

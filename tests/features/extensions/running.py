"""Runs of the agent with extensions in a home folder of the test."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import agentcli
from tests.frontends.python.embedded import options

HEAD = "from agentcli.extension import *\nfrom agentcli.extension import Context, ToolCall\n"


def folder(tmp_path: Path) -> Path:
    """The user's folder of extensions."""
    made = tmp_path / "home" / ".config" / "agentcli" / "extensions"
    made.mkdir(parents=True, exist_ok=True)
    return made


def write(tmp_path: Path, code: str, name: str = "mine") -> Path:
    """Write an extension of the user."""
    file = folder(tmp_path) / f"{name}.py"
    file.write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
    return file


def play(tmp_path: Path, *replies: Mapping[str, Any] | str, prompt: str = "Go.", **more: Any) -> list[Any]:
    """The events of one prompt, the result last."""

    async def events() -> list[Any]:
        return [event async for event in agentcli.query(prompt, **options(tmp_path, *replies, **more))]

    return asyncio.run(events())


def warnings(events: list[Any]) -> list[str]:
    """The warnings of a run that name an extension."""
    every = [event.message for event in events if isinstance(event, agentcli.WarningEvent)]
    return [text for text in every if "xtension" in text]


def outputs(events: list[Any]) -> list[tuple[str, str]]:
    """Status and output of each call."""
    return [(event.status, event.output) for event in events if isinstance(event, agentcli.ToolResultEvent)]

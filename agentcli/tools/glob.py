"""The glob tool: files by name patterns, newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def glob(ctx: ToolContext, call_id: str, pattern: str, path: str = ".") -> ToolOutput:
    from agentcli.tools.lib.search_results import glob_files

    return await asyncio.to_thread(glob_files, ctx, call_id, pattern, path)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Find **/*.py in src`."""
    return f"Find {given.get('pattern', '')}{inside(given)}"


def inside(given: Mapping[str, Any]) -> str:
    """Return ` in src`, or nothing for the current folder."""
    path = given.get("path") or "."
    return f" in {path}" if path != "." else ""


GLOB = Entry("glob", glob, title, Traits("read", Subject("path", "folder", pattern="pattern")))

"""The glob tool: files by the shape of their names, newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentcli.core.resolve import searched
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.tools.lib.openat import top
from agentcli.tools.lib.paths import ResolvedPath
from agentcli.tools.lib.search import files, ripgrep
from agentcli.tools.lib.truncate import truncated


async def glob(ctx: ToolContext, call_id: str, pattern: str, path: str = ".") -> ToolOutput:
    return await asyncio.to_thread(_glob, ctx, call_id, pattern, path)


def title(given: Mapping[str, Any]) -> str:
    """`Find **/*.py in src`."""
    return f"Find {given.get('pattern', '')}{inside(given)}"


def inside(given: Mapping[str, Any]) -> str:
    """` in src`, or nothing for the current folder."""
    path = given.get("path") or "."
    return f" in {path}" if path != "." else ""


def prefix(target: ResolvedPath) -> str:
    """The prefix that makes a found path one that the other tools take."""
    return "" if target.display == "." else f"{target.display.rstrip('/')}/"


def _glob(ctx: ToolContext, call_id: str, pattern: str, path: str) -> ToolOutput:
    path, pattern = searched(path, pattern)
    with top(ctx, path) as (target, folder):
        times = {name: folder.changed(name) for name in files(target.path, pattern, ripgrep(ctx.roots))}
    found = sorted(
        (name for name, time in times.items() if time is not None), key=lambda name: (-(times[name] or 0), name)
    )
    if not found:
        return ToolOutput(f"No file matches {pattern}.", metadata={"matches": 0})
    names = [prefix(target) + name for name in found]
    part = names[: ctx.limits.matches]
    rest = len(names) - len(part)
    notice = f"{len(part)} of {len(names):,} files, newest first; {rest:,} more" if rest else ""
    return truncated(ctx, call_id, part, names, notice, {"matches": len(names)})

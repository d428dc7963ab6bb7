"""The glob tool: files by patterns of their names, newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.text.plural import plural
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

if TYPE_CHECKING:
    from agentcli.tools.lib.paths import ResolvedPath


async def glob(ctx: ToolContext, call_id: str, pattern: str, path: str = ".") -> ToolOutput:
    return await asyncio.to_thread(_glob, ctx, call_id, pattern, path)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Find **/*.py in src`."""
    return f"Find {given.get('pattern', '')}{inside(given)}"


def inside(given: Mapping[str, Any]) -> str:
    """Return ` in src`, or nothing for the current folder."""
    path = given.get("path") or "."
    return f" in {path}" if path != "." else ""


def prefix(target: ResolvedPath) -> str:
    """Return the prefix that makes a found path valid for the other tools."""
    return "" if target.display == "." else f"{target.display.rstrip('/')}/"


def is_hidden(ctx: ToolContext, path: Path) -> bool:
    """Return True if a rule denies reading the file that a path leads to through its links."""
    from agentcli.system.resolve import follow

    real = follow(str(path))
    return any(real.is_relative_to(hidden) for hidden in ctx.scope.hidden)


def left_out(output: ToolOutput, count: int) -> ToolOutput:
    """Add a note on the number of files that deny rules keep from being read."""
    if not count:
        return output
    return replace(
        output, output=f"{output.output}\n[left out: {plural(count, 'file')} that deny rules keep from being read]"
    )


def _glob(ctx: ToolContext, call_id: str, pattern: str, path: str) -> ToolOutput:
    from agentcli.system.resolve import searched
    from agentcli.tools.lib.openat import top
    from agentcli.tools.lib.search import files, ripgrep
    from agentcli.tools.lib.truncate import truncated

    path, pattern = searched(path, pattern)
    with top(ctx, path) as (target, folder):
        names = files(target.path, pattern, ripgrep(ctx.roots))
        readable = [name for name in names if not ctx.scope.hidden or not is_hidden(ctx, target.path / name)]
        times = {name: folder.changed(name) for name in readable}
    found = sorted(
        (name for name, time in times.items() if time is not None), key=lambda name: (-(times[name] or 0), name)
    )
    if not found:
        return left_out(ToolOutput(f"No file matches {pattern}.", metadata={"matches": 0}), len(names) - len(readable))
    hidden = len(names) - len(readable)
    names = [prefix(target) + name for name in found]
    part = names[: ctx.limits.matches]
    rest = len(names) - len(part)
    notice = f"{len(part)} of {len(names):,} files, newest first; {rest:,} more" if rest else ""
    return left_out(truncated(ctx, call_id, part, names, notice, {"matches": len(names)}), hidden)


GLOB = Entry("glob", glob, title, Traits("read", Subject("path", "folder", pattern="pattern")))

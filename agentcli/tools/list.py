"""The list tool: the entries of a folder of any size."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from itertools import islice
from typing import Any

from agentcli.core.sanitise import replace_surrogates
from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

_SORTED = 50_000
"""Maximum entries that are read and sorted: a million would take longer than people wait."""


async def listing(ctx: ToolContext, call_id: str, path: str = ".") -> ToolOutput:
    return await asyncio.to_thread(entries_of, ctx, path)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `List src`."""
    return f"List {given.get('path') or '.'}"


def entries_of(ctx: ToolContext, path: str) -> ToolOutput:
    """List the entries of a folder, sorted; its subfolders first."""
    from agentcli.tools.lib.paths import open_folder

    target, fd = open_folder(ctx, path)
    try:
        with os.scandir(fd) as entries:
            rows = [
                (not entry.is_dir(follow_symlinks=False), entry.name, _row(entry)) for entry in islice(entries, _SORTED)
            ]
            more = next(entries, None) is not None
    finally:
        os.close(fd)
    rows.sort()
    part = rows[: ctx.limits.entries]
    metadata = {"path": str(target.path), "entries": len(rows)}
    text = "\n".join(replace_surrogates(row) for _, _, row in part)
    if not rows:
        return ToolOutput(f"[{target.display} is empty]", metadata=metadata)
    if len(part) == len(rows) and not more:
        return ToolOutput(text, metadata=metadata)
    total = f"{'more than ' if more else ''}{len(rows):,} entries"
    notice = f"[{len(part):,} of {total}; use glob with a pattern to find the others]"
    return ToolOutput(f"{text}\n{notice}", truncated=True, metadata=metadata)


def _row(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name}@"
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


LIST = Entry("list", listing, title, Traits("read", Subject("path", "folder"), Behaviour(dispensable=True)))

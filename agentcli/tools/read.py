"""The read tool: a file, a part of a huge one, an image, or the entries of a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def read(
    ctx: ToolContext,
    call_id: str,
    file_path: str,
    offset: Annotated[int, "First line, from 1"] = 0,
    limit: int = 0,
) -> ToolOutput:
    from agentcli.tools.lib.reading import is_small, read_file

    if is_small(ctx, file_path):
        return read_file(ctx, file_path, offset, limit)
    return await asyncio.to_thread(read_file, ctx, file_path, offset, limit)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Read a.py (lines 5-14)`."""
    first, count = _whole_number(given.get("offset")) or 1, _whole_number(given.get("limit"))
    lines = f" (lines {first}-{first + count - 1})" if count > 0 else f" (from line {first})" if first > 1 else ""
    return f"Read {given.get('file_path', '')}{lines}"


def _whole_number(value: object) -> int:
    return value if isinstance(value, int) else 0


READ = Entry("read", read, title, Traits("read", Subject("file_path", "file")))

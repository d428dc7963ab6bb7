"""The write tool: a whole file, new or replacing one that the model has read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def write(ctx: ToolContext, call_id: str, file_path: str, content: str) -> ToolOutput:
    from agentcli.tools.lib.edits import write_file

    return await asyncio.to_thread(write_file, ctx, file_path, content)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Write a.py`."""
    return f"Write {given.get('file_path', '')}"


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of writing the file, for approval; creates no missing folders."""
    from agentcli.tools.lib.edits import write_preview

    return write_preview(ctx, given["file_path"], given["content"])


WRITE = Entry("write", write, title, Traits("write", Subject("file_path", "file", content="content")), preview)

"""The list tool: the entries of a folder of any size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def listing(ctx: ToolContext, call_id: str, path: str = ".") -> ToolOutput:
    from agentcli.tools.lib.reading import entries_of

    return await asyncio.to_thread(entries_of, ctx, path)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `List src`."""
    return f"List {given.get('path') or '.'}"


LIST = Entry("list", listing, title, Traits("read", Subject("path", "folder"), Behaviour(dispensable=True)))

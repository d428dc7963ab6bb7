"""The grep tool: lines, files or counts that match a regular expression."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from agentcli.core.schema import Unlisted, WireName
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry
from agentcli.tools.glob import inside


async def grep(
    ctx: ToolContext,
    call_id: str,
    pattern: str,
    path: str = ".",
    glob: str = "",
    output_mode: Literal["content", "files_with_matches", "count"] = "content",
    ignore_case: Annotated[bool, WireName("-i")] = False,
    numbers: Annotated[bool, WireName("-n"), Unlisted()] = True,
    after: Annotated[int, WireName("-A")] = 0,
    before: Annotated[int, WireName("-B")] = 0,
    around: Annotated[int, WireName("-C")] = 0,
    head_limit: int = 0,
) -> ToolOutput:
    from agentcli.tools.lib.search import Wanted
    from agentcli.tools.lib.search_results import Form, grep_files

    content = output_mode == "content"
    wanted = Wanted(pattern, ignore_case, max(before, around, 0) * content, max(after, around, 0) * content)
    limit = min(head_limit if head_limit > 0 else ctx.limits.matches, ctx.limits.matches)
    form = Form(output_mode, numbers, limit)
    return await asyncio.to_thread(grep_files, ctx, call_id, wanted, path, glob, form)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Search "def main" in src`."""
    glob = f" ({given['glob']})" if given.get("glob") else ""
    return f'Search "{given.get("pattern", "")}"{inside(given)}{glob}'


GREP = Entry("grep", grep, title, Traits("read", Subject("path", "folder", name_filter="glob")))

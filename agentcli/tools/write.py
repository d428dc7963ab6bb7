"""The write tool: a whole file, new or in place of one that the model has read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import Encoding, decode, encode, with_newlines
from agentcli.core.text.plural import plural
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.system import probe
from agentcli.tools.entry import Entry


async def write(ctx: ToolContext, call_id: str, file_path: str, content: str) -> ToolOutput:
    return await asyncio.to_thread(_write, ctx, file_path, content)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Write a.py`."""
    return f"Write {given.get('file_path', '')}"


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of writing the file, for its approval; missing folders are not made."""
    from agentcli.tools.lib.diff import unified
    from agentcli.tools.lib.files import changing, load_if_there
    from agentcli.tools.lib.paths import locate

    path, content = given["file_path"], given["content"]
    target = locate(ctx, path)
    if not probe.exists(target.path):
        return unified("", content, target.display, created=True).text
    with changing(ctx, path) as handle:
        before, _, after = _contents(load_if_there(ctx, handle), content)
    return unified(replace_surrogates(before), replace_surrogates(after), target.display).text


def _write(ctx: ToolContext, path: str, content: str) -> ToolOutput:
    from agentcli.tools.lib.diff import unified
    from agentcli.tools.lib.files import changing, load_if_there, remember, replace, require_seen
    from agentcli.tools.lib.omission import refuse_omissions

    with changing(ctx, path, make=True) as handle:
        old = load_if_there(ctx, handle)
        if old:
            require_seen(ctx, handle, old)
        before, encoding, after = _contents(old, content)
        refuse_omissions(handle.display, before, after, "content")
        data = encode(after, encoding, handle.display)
        replace(handle, data)
        seen = remember(ctx, handle.path, data)
    diff = unified(replace_surrogates(before), replace_surrogates(after), handle.display, old is None)
    count = after.count("\n") + (not after.endswith("\n") and bool(after))
    return ToolOutput(
        f"{'Created' if old is None else 'Replaced'} {handle.display} ({plural(count, 'line')}).",
        metadata={
            "path": str(handle.path),
            "diff": diff.text,
            "additions": diff.additions,
            "deletions": diff.deletions,
            "created": old is None,
            "seen": seen,
        },
    )


def _contents(old: bytes | None, content: str) -> tuple[str, Encoding, str]:
    """Return the text before, its encoding, and the text after, with the file's line endings."""
    decoded = decode(old) if old else None
    if decoded is None:
        return "", Encoding(), content
    before, encoding = decoded
    endings = set(re.findall(r"\r\n|\n|\r", before))
    if len(endings) == 1 and "\r" not in content:
        content = with_newlines(content, endings.pop())
    return before, encoding, content


WRITE = Entry("write", write, title, Traits("write", Subject("file_path", "file", content="content")), preview)

"""The write tool: a whole file, new or in place of one that the model has read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.tools.lib.diff import unified
from agentcli.tools.lib.files import changing, load_if_there, remember, replace, require_seen
from agentcli.tools.lib.paths import locate
from agentcli.tools.lib.text import Encoding, decode, encode, plural, replace_surrogates, with_newlines


async def write(work: ToolContext, call_id: str, file_path: str, content: str) -> ToolOutput:
    return await asyncio.to_thread(_write, work, file_path, content)


def title(given: Mapping[str, Any]) -> str:
    """`Write a.py`."""
    return f"Write {given.get('file_path', '')}"


def preview(work: ToolContext, given: Mapping[str, Any]) -> str:
    """The unified diff that writing would make, for whoever must allow it; folders that are missing are not made."""
    path, content = given["file_path"], given["content"]
    place = locate(work, path)
    if not place.path.exists():
        return unified("", content, place.shown, created=True).text
    with changing(work, path) as spot:
        before, _, after = _contents(load_if_there(work, spot), content)
    return unified(replace_surrogates(before), replace_surrogates(after), place.shown).text


def _write(work: ToolContext, path: str, content: str) -> ToolOutput:
    with changing(work, path, make=True) as spot:
        old = load_if_there(work, spot)
        if old:
            require_seen(work, spot, old)
        before, encoding, after = _contents(old, content)
        data = encode(after, encoding, spot.shown)
        replace(spot, data)
        remember(work, spot.path, data)
    diff = unified(replace_surrogates(before), replace_surrogates(after), spot.shown, old is None)
    count = after.count("\n") + (not after.endswith("\n") and bool(after))
    return ToolOutput(
        f"{'Created' if old is None else 'Replaced'} {spot.shown} ({plural(count, 'line')}).",
        metadata={
            "path": str(spot.path),
            "diff": diff.text,
            "additions": diff.additions,
            "deletions": diff.deletions,
            "created": old is None,
        },
    )


def _contents(old: bytes | None, content: str) -> tuple[str, Encoding, str]:
    """The text before, and the text after in the encoding and with the line endings that the file has."""
    decoded = decode(old) if old else None
    if decoded is None:
        return "", Encoding(), content
    before, encoding = decoded
    endings = set(re.findall(r"\r\n|\n|\r", before))
    if len(endings) == 1 and "\r" not in content:
        content = with_newlines(content, endings.pop())
    return before, encoding, content

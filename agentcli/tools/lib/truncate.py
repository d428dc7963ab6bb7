"""Truncation of results: the part that fits, and a notice that names where the whole is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentcli.core.text.truncate import truncate_bytes
from agentcli.core.tool import ToolContext, ToolLimits, ToolOutput
from agentcli.tools.lib.text import clip, replace_surrogates


def truncated(
    ctx: ToolContext, call_id: str, part: Sequence[str], whole: Sequence[str], notice: str, metadata: Mapping[str, Any]
) -> ToolOutput:
    """Some lines of many. Without a notice all of them were shown, and nothing needs to be kept."""
    if not notice:
        return whole_or_cut(ctx, call_id, "\n".join(part), metadata)
    file = ctx.keep_output(call_id, replace_surrogates("\n".join(whole)))
    text = truncate_bytes("\n".join(part), ctx.limits.read_bytes, "cut")
    return ToolOutput(
        f"{text}\n[{notice}{whereabouts(file, call_id)}]", truncated=True, output_file=file, metadata=metadata
    )


def whole_or_cut(ctx: ToolContext, call_id: str, text: str, metadata: Mapping[str, Any]) -> ToolOutput:
    """A text as it is, or its beginning and end where it is larger than `read_bytes`."""
    size = len(text.encode("utf-8", "replace"))
    if size <= ctx.limits.read_bytes:
        return ToolOutput(text, metadata=metadata)
    file = ctx.keep_output(call_id, replace_surrogates(text))
    notice = f"{size - ctx.limits.read_bytes:,} of {size:,} bytes left out here{whereabouts(file, call_id)}"
    cut = truncate_bytes(text, ctx.limits.read_bytes, notice)
    return ToolOutput(cut, truncated=True, output_file=file, metadata=metadata)


def fitting(lines: Iterable[tuple[int, str]], limits: ToolLimits, *, numbers: bool) -> list[str]:
    """As many lines as fit into `read_bytes`, at least one, each clipped; with `numbers`, which count for nothing, before them.

    A number is followed by a tab, without padding: measured over the reads of a recorded session, padding costs 18 % of all tokens.
    """
    rows: list[str] = []
    size = 0
    for n, line in lines:
        row = clip(line, limits.line_characters)
        size += len(row.encode("utf-8", "replace")) + 1
        if size > limits.read_bytes and rows:
            break
        rows.append(f"{n}\t{row}" if numbers else row)
    return rows


def whereabouts(file: str, call_id: str, what: str = "the whole output") -> str:
    """`; the whole output: /…/c1.txt, or recall(id="c1")`, naming what there is of the two."""
    recall = f'recall(id="{call_id}")' if call_id and file else ""
    ways = [way for way in (file if os.path.isabs(file) else "", recall) if way]
    return f"; {what}: {', or '.join(ways)}" if ways else ""

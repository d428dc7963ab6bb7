"""Truncation of results: the part that fits, and a notice with the place of the whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.truncate import clip, truncate_bytes
from agentcli.core.tool import ToolContext, ToolLimits, ToolOutput

RESULT_BYTES = 51_200
"""Maximum bytes of a search result, a page or a result of another program's tool.

For files and earlier results, `tools.read_bytes` applies.
"""


def truncated(
    ctx: ToolContext, call_id: str, part: Sequence[str], whole: Sequence[str], notice: str, metadata: Mapping[str, Any]
) -> ToolOutput:
    """Return some lines of many with the notice. Without a notice they are complete, and no copy is kept."""
    if not notice:
        return whole_or_cut(ctx, call_id, "\n".join(part), metadata)
    file = ctx.keep_output(call_id, replace_surrogates("\n".join(whole)))
    text = truncate_bytes("\n".join(part), RESULT_BYTES, "cut")
    return ToolOutput(
        f"{text}\n[{notice}{whereabouts(file, call_id)}]", truncated=True, output_file=file, metadata=metadata
    )


def whole_or_cut(ctx: ToolContext, call_id: str, text: str, metadata: Mapping[str, Any]) -> ToolOutput:
    """Return a text unchanged, or its beginning and end if it exceeds `RESULT_BYTES`."""
    size = len(text.encode("utf-8", "replace"))
    if size <= RESULT_BYTES:
        return ToolOutput(text, metadata=metadata)
    file = ctx.keep_output(call_id, replace_surrogates(text))
    notice = f"{size - RESULT_BYTES:,} of {size:,} bytes left out here{whereabouts(file, call_id)}"
    cut = truncate_bytes(text, RESULT_BYTES, notice)
    return ToolOutput(cut, truncated=True, output_file=file, metadata=metadata)


def fitting(lines: Iterable[tuple[int, str]], limits: ToolLimits, *, numbers: bool) -> list[str]:
    """Return as many lines as fit into `read_bytes`, at least one, each clipped.

    `numbers` adds uncounted line numbers. A tab follows a number, without padding. In the reads of a recorded session,
    padding would cost 18 % of all tokens.
    """
    rows: list[str] = []
    size, longest, most = 0, limits.line_characters, limits.read_bytes
    for n, line in lines:
        row = line if len(line) <= longest else clip(line, longest)
        size += (len(row) if row.isascii() else len(row.encode("utf-8", "replace"))) + 1
        if size > most and rows:
            break
        rows.append(f"{n}\t{row}" if numbers else row)
    return rows


def whereabouts(file: str, call_id: str, what: str = "the whole output") -> str:
    """Return `; recall(id="c1", pattern="…") searches the whole output`; without an id the file, if there is one.

    No tool reads the session's files, so the model gets no path of a file that `recall` can search.
    """
    if call_id and file:
        return f'; recall(id="{call_id}", pattern="…") searches {what}'
    return f"; {what}: {file}" if os.path.isabs(file) else ""

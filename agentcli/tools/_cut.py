"""How a result that is too long is shown: the part that fits, and a notice that names where the whole is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.tool import Outcome, Workplace
from agentcli.tools._text import cut_middle, shown


def kept(
    work: Workplace, call_id: str, part: Sequence[str], whole: Sequence[str], notice: str, metadata: Mapping[str, Any]
) -> Outcome:
    """Some lines of many. Without a notice all of them were shown, and nothing needs to be kept."""
    if not notice:
        return whole_or_cut(work, call_id, "\n".join(part), metadata)
    file = work.keep_output(call_id, shown("\n".join(whole)))
    text = cut_middle("\n".join(part), work.limits.read_bytes, "cut")
    return Outcome(
        f"{text}\n[{notice}{whereabouts(file, call_id)}]", truncated=True, output_file=file, metadata=metadata
    )


def whole_or_cut(work: Workplace, call_id: str, text: str, metadata: Mapping[str, Any]) -> Outcome:
    """A text as it is, or its beginning and end where it is larger than `read_bytes`."""
    size = len(text.encode("utf-8", "replace"))
    if size <= work.limits.read_bytes:
        return Outcome(text, metadata=metadata)
    file = work.keep_output(call_id, shown(text))
    notice = f"{size - work.limits.read_bytes:,} of {size:,} bytes left out here{whereabouts(file, call_id)}"
    cut = cut_middle(text, work.limits.read_bytes, notice)
    return Outcome(cut, truncated=True, output_file=file, metadata=metadata)


def whereabouts(file: str, call_id: str, what: str = "the whole output") -> str:
    """`; the whole output: /…/c1.txt, or recall(id="c1")`, naming what there is of the two."""
    recall = f'recall(id="{call_id}")' if call_id and file else ""
    ways = [way for way in (file if os.path.isabs(file) else "", recall) if way]
    return f"; {what}: {', or '.join(ways)}" if ways else ""

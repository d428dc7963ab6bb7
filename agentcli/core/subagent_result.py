"""Spending of a call with its own model, such as a subagent's, in the metadata of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.message import COUNTS, ToolResult, Usage

SPENT = "spent"
"""Metadata key of a result for `model`, `usage`, `cost` and the purpose."""
FILES = "files"
"""The key for the changed files."""
CALLS = "calls"
"""The key for the titles of the calls of a subagent or script."""


def spending(model: str, usage: Usage, cost: float | None, purpose: str = "subagents") -> Mapping[str, Any]:
    """Return the metadata of a usage; `cost` in USD, None if no price is known."""
    tokens = {name: getattr(usage, name) for name in COUNTS}
    return {SPENT: {"model": model, "usage": tokens, "cost": cost, "purpose": purpose}}


def spent(result: ToolResult) -> tuple[str, Usage, float | None]:
    """Return the model, tokens and USD of such a call; empty for any other result. Invalid values count as 0."""
    raw = result.metadata.get(SPENT)
    if not isinstance(raw, Mapping):
        return "", Usage(), None
    tokens, cost = raw.get("usage"), raw.get("cost")
    tokens = tokens if isinstance(tokens, Mapping) else {}
    fresh, output, reasoning, read, written = (_count(tokens.get(name)) for name in COUNTS)
    usage = Usage(fresh, output, reasoning, read, written)
    return str(raw.get("model") or ""), usage, float(cost) if isinstance(cost, int | float) else None


def purpose(result: ToolResult) -> str:
    """Purpose of the spending, in a word."""
    raw = result.metadata.get(SPENT)
    return str(raw.get("purpose") or "subagents") if isinstance(raw, Mapping) else ""


def changed_files(metadata: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the files changed by a subagent or a patch.

    Each has its `path`, `additions` and `deletions`, and may be marked as `created` or `deleted`.
    """
    files = metadata.get(FILES)
    for file in files if isinstance(files, list | tuple) else ():
        if isinstance(file, Mapping) and isinstance(file.get("path"), str):
            yield file


def calls_of(result: ToolResult) -> tuple[str, ...]:
    """Return the titles of the calls of a subagent or script; none for any other result."""
    found = result.metadata.get(CALLS)
    return tuple(title for title in found if isinstance(title, str)) if isinstance(found, list | tuple) else ()


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0

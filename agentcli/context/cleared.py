"""Markers in place of cleared outputs and inputs, with the way back to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from agentcli.core.message import Status, ToolCall, ToolResult

CLEARED = "[Old tool result content cleared]"
"""Marker in place of a pruned output; a line that names the call follows."""


_REMEMBERED = 32_768
"""Markers that are remembered, of as many calls as a very long view may have: else each view would make all of them anew."""
_HARMLESS = {"caller"}
"""Metadata of a call that says only who made it."""


@lru_cache(_REMEMBERED)
def cleared_result(call_id: str, name: str, status: Status, outcome: str = "") -> ToolResult:
    """A pruned result as the model sees it: the marker, how a command ended, and how to get the output back."""
    ended = f"\n{outcome}" if outcome else ""
    return ToolResult(call_id, name, status, f'{CLEARED}{ended}\n[recall(id="{call_id}") shows it again]')


def cleared_input(call: ToolCall) -> ToolCall:
    """A call whose input is cleared, as the model sees it: the path, and how to get the rest back."""
    lines = sum(text.count("\n") + 1 for text in _leaves(call.input))
    path = call.input.get("file_path")
    return _marked_call(call.call_id, call.name, path if isinstance(path, str) else "", lines)


def keeps_input(call: ToolCall) -> bool:
    """True if the input may not change: the provider has signed the call, or resolves it by more than its name."""
    return any(set(fields) - _HARMLESS for fields in (call.meta or {}).values())


@lru_cache(_REMEMBERED)
def _marked_call(call_id: str, name: str, path: str, lines: int) -> ToolCall:
    # Remembered so that the same marker is the same object in every view, and is measured once.
    marker = f'[{name} of {lines} lines cleared: recall(id="{call_id}", role="input") shows it again]'
    return ToolCall(call_id, name, {**({"file_path": path} if path else {}), "cleared": marker})


def forget_markers() -> None:
    """Forget all markers, most of whose calls have left the view; those of calls that are still in one are made anew."""
    cleared_result.cache_clear()
    _marked_call.cache_clear()


def _leaves(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for inner in value.values() for text in _leaves(inner))
        case list() | tuple():
            yield from (text for inner in value for text in _leaves(inner))
        case _:
            return

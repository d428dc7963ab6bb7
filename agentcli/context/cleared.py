"""Markers for cleared outputs and inputs, with the way to see the originals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from agentcli.core.message import Status, ToolCall, ToolResult

CLEARED = "[Old tool result content cleared]"
"""Marker for a pruned output; a line with the call follows."""


_REMEMBERED = 32_768
"""Number of cached markers, enough for the calls of a very long view.

Otherwise, each view would make all of them again.
"""
_HARMLESS = {"caller"}
"""Metadata of a call that only states who made it."""


@lru_cache(_REMEMBERED)
def cleared_result(call_id: str, name: str, status: Status, outcome: str = "") -> ToolResult:
    """Return a pruned result as the model sees it.

    It has the marker, the outcome of a command, and the call that shows the output again.
    """
    ended = f"\n{outcome}" if outcome else ""
    return ToolResult(call_id, name, status, f'{CLEARED}{ended}\n[recall(id="{call_id}") shows it again]')


def cleared_input(call: ToolCall) -> ToolCall:
    """Return a call with a cleared input as the model sees it.

    It has the path, and the call that shows the rest again.
    """
    lines = sum(text.count("\n") + 1 for text in _leaves(call.input))
    path = call.input.get("file_path")
    return _marked_call(call.call_id, call.name, path if isinstance(path, str) else "", lines)


def cut_input(call: ToolCall, ends: str) -> ToolCall:
    """Return a call with the two ends of an input that is too large, and its path."""
    path = call.input.get("file_path")
    return ToolCall(call.call_id, call.name, {**({"file_path": path} if isinstance(path, str) else {}), "cut": ends})


def input_key(call_id: str) -> str:
    """Return the key of a call's own input in `Compaction.replaced`."""
    return f"{call_id}{_INPUT}"


def is_input_key(key: str) -> bool:
    """Return True for a key made by `input_key`."""
    return key.endswith(_INPUT)


_INPUT = ":input"


def keeps_input(call: ToolCall) -> bool:
    """Return True if the input may not change.

    The provider has signed the call, or resolves it by more than its name.
    """
    return any(set(fields) - _HARMLESS for fields in (call.meta or {}).values())


@lru_cache(_REMEMBERED)
def _marked_call(call_id: str, name: str, path: str, lines: int) -> ToolCall:
    # Cached so that the same marker is the same object in every view, and is measured once.
    marker = f'[{name} of {lines} lines cleared: recall(id="{call_id}", role="input") shows it again]'
    return ToolCall(call_id, name, {**({"file_path": path} if path else {}), "cleared": marker})


def forget_markers() -> None:
    """Forget all markers, because most of their calls have left the view.

    Markers of calls still in a view are made again.
    """
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

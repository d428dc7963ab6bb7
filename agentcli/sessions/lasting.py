"""What a rewind must not take back: it is about the session or the program, not about what was said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, replace

from agentcli.core.history import History
from agentcli.core.message import Usage
from agentcli.core.record import Body, Settings, Title, Undo


def lasting(before: History, after: History) -> Iterator[Body]:
    """The records that make the model, mode, policy and names again what they were before an undo."""
    if before.title != after.title or before.name != after.name:
        yield Title(before.title, before.name)
    # Who switched from a loose mode to a strict one must not find the loose one back.
    kept = (before.model, before.mode, before.policy, before.system, before.tools)
    if kept != (after.model, after.mode, after.policy, after.system, after.tools):
        yield Settings(*kept)


def paid(undo: Undo, before: History, after: History) -> Undo:
    """The undo with what was spent on that which it takes back, so that no budget is filled again by it."""
    missing = (max(0, was - now) for was, now in zip(astuple(before.usage), astuple(after.usage), strict=True))
    known = before.cost is not None and before.cost != after.cost
    cost = max(0.0, (before.cost or 0.0) - (after.cost or 0.0)) if known else None
    return replace(undo, usage=Usage(*missing), cost=cost)

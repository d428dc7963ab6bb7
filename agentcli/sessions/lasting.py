"""What a rewind must not take back: it is about the session or the program, not about what was said."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.core.history import History
from agentcli.core.record import Body, Settings, Title


def lasting(before: History, after: History) -> Iterator[Body]:
    """The records that make the model, mode, policy and names again what they were before an undo."""
    if before.title != after.title or before.name != after.name:
        yield Title(before.title, before.name)
    # Who switched from a loose mode to a strict one must not find the loose one back.
    kept = (before.model, before.mode, before.policy, before.system, before.tools)
    if kept != (after.model, after.mode, after.policy, after.system, after.tools):
        yield Settings(*kept)

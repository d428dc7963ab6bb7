"""What would be done before the next request, planned and not done: the prune, then the compaction of what that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentcli.context.plan import Plan
from agentcli.context.policies import plan, plan_prune
from agentcli.context.prune import Pressure, free_because
from agentcli.context.view import after
from agentcli.context.window import Window
from agentcli.core.history import History
from agentcli.core.record import Prune


def foresee(history: History, window: Window, now: datetime) -> Plan:
    """What the policy would do if the session went on now. `cleared` holds what its prune would clear as well.

    `window` holds the view of this history. `trigger` names the mark that has been passed also where the prune is all
    that it takes.
    """
    whole = plan(window)
    prune, why = due_prune(window, now)
    if prune is None:
        return whole
    made = plan(replace(window, view=after(history, prune)))
    return replace(
        made,
        trigger=made.trigger or (None if whole.optional else whole.trigger),
        cleared=(*prune.call_ids, *made.cleared),
        tokens_before=window.tokens,
        reasons=(_told(prune.call_ids, prune.tokens, why), *made.reasons),
    )


def due_prune(window: Window, now: datetime) -> tuple[Prune | None, str]:
    """The prune that the policy would make, if any, and why now or why not."""
    pressure = Pressure(free=free_because(window, now), need=max(0, window.tokens - window.limits.hard))
    return plan_prune(window, pressure)


def _told(call_ids: Sequence[str], tokens: int, why: str) -> str:
    return f"Will clear {len(call_ids)} old outputs ({tokens:,} tokens): {why}."

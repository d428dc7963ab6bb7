"""What would be done before the next request, planned and not done: the prune, then the compaction of what that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentcli.context.limits import Limits
from agentcli.context.plan import Plan
from agentcli.context.policies import plan
from agentcli.context.policies.auto import due
from agentcli.context.policies.stretch import opens_turn
from agentcli.context.prune import Pressure, free_because, plan_prune
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View, after, view
from agentcli.core.history import History
from agentcli.core.record import Prune


def foresee(
    history: History, counts: Counts, limits: Limits, settings: ContextSettings, policy: str, now: datetime
) -> Plan:
    """What the policy would do if the session went on now. `cleared` holds what its prune would clear as well.

    `trigger` names the mark that has been passed also where the prune is all that it takes.
    """
    shown = view(history)
    before = counts.prompt(shown)
    prune, why = due_prune(shown, counts, limits, settings, policy, before, now)
    if prune is None:
        return plan(policy, shown, limits, counts, settings)
    left = after(history, prune)
    made = plan(policy, left, limits, counts, settings)
    passed = due(before, limits, settings, forced=False) if policy == "auto" else None
    return replace(
        made,
        trigger=made.trigger or passed,
        cleared=(*prune.call_ids, *made.cleared),
        tokens_before=before,
        reasons=(_told(prune.call_ids, prune.tokens, why), *made.reasons),
    )


def due_prune(
    shown: View, counts: Counts, limits: Limits, settings: ContextSettings, policy: str, size: int, now: datetime
) -> tuple[Prune | None, str]:
    """The prune that the policy would make of a view of `size` tokens, if any, and why now or why not."""
    if policy == "opencode":
        # Its rule is asked when a prompt has been answered: one that waits is not passed yet.
        return plan_prune(_answered(shown), counts, limits, settings.prune, policy=policy)
    free = free_because(shown, limits.model, now, limits.cache_lifetime)
    pressure = Pressure(free=free, need=max(0, size - limits.hard))
    return plan_prune(shown, counts, limits, settings.prune, pressure=pressure, policy=policy)


def _answered(shown: View) -> View:
    waits = bool(shown.messages) and opens_turn(shown.messages[-1])
    return replace(shown, messages=shown.messages[:-1]) if waits else shown


def _told(call_ids: Sequence[str], tokens: int, why: str) -> str:
    return f"Will clear {len(call_ids)} old outputs ({tokens:,} tokens): {why}."

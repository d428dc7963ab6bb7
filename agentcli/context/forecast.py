"""Forecast of the prune and the compaction before the next request, with cost and break-even. It calls no model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from agentcli.context.policies import plan, plan_prune
from agentcli.context.policies.plans import Plan, compactable
from agentcli.context.pruning.candidates import EditCost, requests_to_pay
from agentcli.context.pruning.plan import Pressure, cleared_in_words, free_because
from agentcli.context.view import after
from agentcli.context.window import Limits, Window, output_ratio
from agentcli.core.dataclass import replace
from agentcli.core.history import History
from agentcli.core.message import Thinking, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Prune


def forecast(history: History, window: Window, now: datetime) -> Plan:
    """Return the plan of the policy for a request now; `cleared` includes the calls that its prune would clear.

    `window` has the view of this history. `trigger` names the mark that has been passed even if the prune alone makes enough
    room.
    """
    whole = plan(window)
    prune, why = due_prune(window, now)
    if prune is None:
        return whole
    planned = plan(replace(window, view=after(history, prune)))
    return replace(
        planned,
        trigger=planned.trigger or (None if whole.optional else whole.trigger),
        cleared=(*prune.call_ids, *planned.cleared),
        cleared_inputs=(*prune.inputs, *planned.cleared_inputs),
        tokens_before=window.tokens,
        reasons=(_prune_reason(prune, why), *planned.reasons),
    )


def due_prune(window: Window, now: datetime) -> tuple[Prune | None, str]:
    """Return the prune that the policy would make, if any, and the reason for or against it."""
    pressure = Pressure(free=free_because(window, now), need=max(0, window.tokens - window.limits.hard))
    return plan_prune(window, pressure)


def _prune_reason(prune: Prune, why: str) -> str:
    return f"Will clear {cleared_in_words(prune)} ({prune.tokens:,} tokens): {why}."


def preview(window: Window, summariser: ModelSpec) -> Sequence[str]:
    """Return lines that describe the effect of `/compress`, which plans from the same window by the same rules."""
    planned, view = plan(window, forced=True), window.view
    lines = [f"Policy {planned.policy}. {' '.join(planned.reasons)}"]
    if not planned.does_something:
        return lines
    going = set(planned.summarised)
    gone = [message for message in compactable(view) if any(block.seq in going for block in message.blocks)]
    tokens = sum(map(window.size, gone))
    if gone:
        lines.append(f"Goes: {len(gone)} messages (records {min(going)} to {max(going)}), {tokens:,} tokens.")
    stays = f"Stays: {len(planned.kept)} records word for word"
    lines.append(f"{stays}, among them {len(planned.pinned)} pinned." if planned.pinned else f"{stays}.")
    share = 1 - planned.tokens_after_estimate / planned.tokens_before if planned.tokens_before else 0.0
    lines.append(
        f"Tokens: {planned.tokens_before:,} now, about {planned.tokens_after_estimate:,} afterwards ({share:.0%} less)."
    )
    kept = set(planned.kept)
    thoughts = sum(
        window.size(block) for block in view.blocks if block.seq in kept and isinstance(block.part, Thinking)
    )
    edit = EditCost(
        removed=max(0, planned.tokens_before - planned.tokens_after_estimate),
        behind=max(0, planned.tokens_after_estimate - window.counter.head),
        thoughts=thoughts if window.limits.preserved_thinking else 0,
    )
    read = Usage(input=tokens, output=window.settings.snapshot.expected_tokens)
    return [*lines, *_price(edit, window.limits, summariser.cost(read) if gone else 0.0)]


def _price(edit: EditCost, limits: Limits, call: float | None) -> Sequence[str]:
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    fresh = limits.prices.input / 1e6 if limits.prices else 0.0
    if not fresh or call is None:
        when = _when(requests_to_pay(edit, write, read, output))
        return [f"Price: unknown for this model; the cache is rewritten for {edit.behind:,} tokens. {when}"]
    rewriting = (edit.behind * (write - read) + edit.thoughts * output) * fresh
    saved = (edit.removed + edit.thoughts) * read * fresh
    return [
        f"Price now: ${call:.4f} for the summary, ${rewriting:.4f} to rewrite the cache.",
        f"Saves ${saved:.4f} a request. {_when((call + rewriting) / saved if saved else math.inf)}",
    ]


def _when(requests: float) -> str:
    if math.isinf(requests):
        return "It never pays by price; it makes room."
    return f"It pays off after {math.ceil(requests)} requests on a warm cache."

"""Says what a compaction would do now, what it would cost, and when that has paid for itself; calls no model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentcli.context.limits import Limits
from agentcli.context.plan import Plan
from agentcli.context.policies import plan
from agentcli.context.policies.stretch import stretch
from agentcli.context.price import Edit, requests_to_pay
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec

SUMMARY = 1_500
"""Tokens that a summary with its scratchpad is taken to cost."""


def preview(
    view: View,
    limits: Limits,
    counts: Counts,
    settings: ContextSettings,
    spec: ModelSpec,
    summariser: ModelSpec | None = None,
    policy: str = "",
) -> Sequence[str]:
    """Lines that say what `/compress` would do: it plans from the same view with the same rules, so it will do just that."""
    made = plan(policy or settings.policy, view, limits, counts, settings, forced=True)
    lines = [f"Policy {made.policy}. {' '.join(made.reasons)}"]
    if not (made.summarised or made.cleared):
        return lines
    going = set(made.summarised)
    gone = [message for message in stretch(view) if any(block.seq in going for block in message.blocks)]
    tokens = sum(map(counts.message, gone))
    if gone:
        lines.append(f"Goes: {len(gone)} messages (records {min(going)} to {max(going)}), {tokens:,} tokens.")
    stays = f"Stays: {len(made.kept)} records word for word"
    lines.append(f"{stays}, among them {len(made.pinned)} pinned." if made.pinned else f"{stays}.")
    share = 1 - made.tokens_after_estimate / made.tokens_before if made.tokens_before else 0.0
    lines.append(
        f"Tokens: {made.tokens_before:,} now, about {made.tokens_after_estimate:,} afterwards ({share:.0%} less)."
    )
    return [*lines, *_price(made, limits, counts, spec, summariser or spec, tokens)]


def _price(
    made: Plan, limits: Limits, counts: Counts, spec: ModelSpec, summariser: ModelSpec, tokens: int
) -> Sequence[str]:
    removed = max(0, made.tokens_before - made.tokens_after_estimate)
    behind = max(0, made.tokens_after_estimate - counts.head)
    write, read = limits.price_ratios
    rewriting = requests_to_pay(Edit(removed, behind), write, read)
    call = summariser.cost(Usage(input=tokens, output=SUMMARY)) if made.summarised else 0.0
    if spec.prices is None or call is None or not spec.prices.input:
        return [f"Price: unknown for this model; the cache is written anew for {behind:,} tokens. {_when(rewriting)}"]
    fresh = spec.prices.input / 1e6
    once, saved = call + behind * (write - read) * fresh, removed * read * fresh
    return [
        f"Price now: ${call:.4f} for the summary, ${behind * (write - read) * fresh:.4f} to write the cache anew.",
        f"Saves ${saved:.4f} a request. {_when(once / saved if saved else math.inf)}",
    ]


def _when(requests: float) -> str:
    if math.isinf(requests):
        return "It never pays by price; it makes room."
    return f"It pays after {math.ceil(requests)} requests on a warm cache."

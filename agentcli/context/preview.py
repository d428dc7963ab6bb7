"""Says what a compaction would do now, what it would cost, and when that has paid for itself; calls no model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentcli.context.limits import Limits, output_ratio
from agentcli.context.policies import plan
from agentcli.context.policies.stretch import stretch
from agentcli.context.price import Edit, requests_to_pay
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View
from agentcli.core.message import Thinking, Usage
from agentcli.core.model import ModelSpec


def preview(
    view: View,
    limits: Limits,
    counts: Counts,
    settings: ContextSettings,
    spec: ModelSpec,
    summariser: ModelSpec | None = None,
) -> Sequence[str]:
    """Lines that say what `/compress` would do: it plans from the same view with the same rules, so it will do just that."""
    made = plan(settings.policy, view, limits, counts, settings, forced=True)
    lines = [f"Policy {made.policy}. {' '.join(made.reasons)}"]
    if not made.does_something:
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
    kept = set(made.kept)
    thoughts = sum(
        counts.block(block) for block in view.blocks if block.seq in kept and isinstance(block.part, Thinking)
    )
    edit = Edit(
        removed=max(0, made.tokens_before - made.tokens_after_estimate),
        behind=max(0, made.tokens_after_estimate - counts.head),
        thoughts=thoughts if limits.preserved_thinking else 0,
    )
    call = (summariser or spec).cost(Usage(input=tokens, output=settings.snapshot.expected_tokens)) if gone else 0.0
    return [*lines, *_price(edit, limits, spec, call)]


def _price(edit: Edit, limits: Limits, spec: ModelSpec, call: float | None) -> Sequence[str]:
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    fresh = spec.prices.input / 1e6 if spec.prices else 0.0
    if not fresh or call is None:
        when = _when(requests_to_pay(edit, write, read, output))
        return [f"Price: unknown for this model; the cache is written anew for {edit.behind:,} tokens. {when}"]
    rewriting = (edit.behind * (write - read) + edit.thoughts * output) * fresh
    saved = (edit.removed + edit.thoughts) * read * fresh
    return [
        f"Price now: ${call:.4f} for the summary, ${rewriting:.4f} to write the cache anew.",
        f"Saves ${saved:.4f} a request. {_when((call + rewriting) / saved if saved else math.inf)}",
    ]


def _when(requests: float) -> str:
    if math.isinf(requests):
        return "It never pays by price; it makes room."
    return f"It pays after {math.ceil(requests)} requests on a warm cache."

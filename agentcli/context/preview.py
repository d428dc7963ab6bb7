"""Says what a compaction would do now, what it would cost, and when that has paid for itself; calls no model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentcli.context.limits import Limits, output_ratio
from agentcli.context.policies import plan
from agentcli.context.policies.stretch import stretch
from agentcli.context.price import Edit, requests_to_pay
from agentcli.context.window import Window
from agentcli.core.message import Thinking, Usage
from agentcli.core.model import ModelSpec


def preview(window: Window, summariser: ModelSpec) -> Sequence[str]:
    """Lines that say what `/compress` would do: it plans from the same window with the same rules, so it will do just that."""
    made, view = plan(window, forced=True), window.view
    lines = [f"Policy {made.policy}. {' '.join(made.reasons)}"]
    if not made.does_something:
        return lines
    going = set(made.summarised)
    gone = [message for message in stretch(view) if any(block.seq in going for block in message.blocks)]
    tokens = sum(map(window.size, gone))
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
        window.size(block) for block in view.blocks if block.seq in kept and isinstance(block.part, Thinking)
    )
    edit = Edit(
        removed=max(0, made.tokens_before - made.tokens_after_estimate),
        behind=max(0, made.tokens_after_estimate - window.counter.head),
        thoughts=thoughts if window.limits.preserved_thinking else 0,
    )
    read = Usage(input=tokens, output=window.settings.snapshot.expected_tokens)
    return [*lines, *_price(edit, window.limits, summariser.cost(read) if gone else 0.0)]


def _price(edit: Edit, limits: Limits, call: float | None) -> Sequence[str]:
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    fresh = limits.prices.input / 1e6 if limits.prices else 0.0
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

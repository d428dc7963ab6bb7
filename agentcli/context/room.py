"""Room for a request: the forecast of its prune and compaction, and the compactions themselves. It calls no model.

The policy's own compaction comes first, then others if the prompt does not fit. Used live and in the lab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from agentcli.context.policies import compacts_from, plan, plan_prune
from agentcli.context.policies.plans import Plan, compactable, cut_plan
from agentcli.context.pruning.plan import (
    EditCost,
    Pressure,
    cleared_in_words,
    free_because,
    requests_to_pay,
    worthwhile,
)
from agentcli.context.settings import PolicyName
from agentcli.context.view import ViewMessage, after
from agentcli.context.window import Limits, Window, output_ratio
from agentcli.core.dataclass import replace
from agentcli.core.history import History
from agentcli.core.message import Thinking, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Prune
from agentcli.core.text.words import plural


def forecast(history: History, window: Window, now: datetime) -> Plan:
    """Return the plan of the policy for a request now; `cleared` includes the calls that its prune would clear.

    `window` has the view of this history. `trigger` names the mark that has been passed even if the prune alone makes enough
    room.
    """
    whole = plan(window)
    prune, why = due_prune(window, now, prunes_of_turn(history, window))
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


def due_prune(window: Window, now: datetime, made: int = 0) -> tuple[Prune | None, str]:
    """Return the prune that the policy would make, if any, and the reason for or against it.

    `made` is the number of prunes made in this turn. Beyond the hard mark, a prune that frees little is not made. No
    turn has more than `MOST_PRUNES`: each rewrites the prefix, so a compaction replaces the next.
    """
    need = max(0, window.tokens - window.limits.hard)
    pressure = Pressure(free=free_because(window, now), need=need)
    if not need or not window.settings.autocompact:
        return plan_prune(window, pressure)
    if made >= MOST_PRUNES:
        return None, f"{made} prunes of this turn were not enough: a compaction is due."
    prune, why = plan_prune(window, pressure)
    # If it is not enough, it is made before the compaction, which rewrites the prefix anyway. More of the conversation
    # then stays.
    if prune is not None and need <= prune.tokens < worthwhile(window.settings.prune, window.usable):
        return None, f"All that may be cleared is {prune.tokens:,} tokens: a compaction is due."
    return prune, why


def last_prune(window: Window) -> tuple[Prune | None, str]:
    """Return the prune of everything that may be cleared, for a prompt that does not fit after the compactions."""
    return plan_prune(window, Pressure(need=max(0, window.tokens - window.limits.hard)))


def prunes_of_turn(history: History, window: Window) -> int:
    """Return the number of prunes by the policy since the newest prompt."""
    made = [record.seq for record in history.prunes if isinstance(record.body, Prune) and not record.body.by]
    if not made:
        return 0
    prompts = window.blocks.prompts
    return sum(seq > prompts[-1] for seq in made) if prompts else len(made)


MOST_PRUNES = 2
"""Prunes beyond the hard mark in one turn."""


def _prune_reason(prune: Prune, why: str) -> str:
    return f"Will clear {cleared_in_words(prune)} ({prune.tokens:,} tokens): {why}."


def preview(window: Window, summariser: ModelSpec) -> Sequence[str]:
    """Return lines that describe the effect of `/compress`, which plans from the same window by the same rules."""
    planned, view = plan(window, forced=True), window.view
    lines = [f"Policy {planned.policy}. {' '.join(planned.reasons)}"]
    if not planned.does_something:
        return lines
    tokens = sum(map(window.size, _gone(window, planned)))
    lines += _effect(window, planned)
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
    return [*lines, *_price(edit, window.limits, summariser.cost(read) if tokens else 0.0)]


def outlook(window: Window) -> Sequence[str]:
    """Return lines about what a compaction now would drop and keep, like `preview`; none if there is nothing to drop."""
    planned = plan(window, forced=True)
    return ["If it were compacted now:", *_effect(window, planned)] if planned.does_something else []


def _gone(window: Window, planned: Plan) -> Sequence[ViewMessage]:
    """Return the messages that a plan summarises in whole or part."""
    going = set(planned.summarised)
    return [message for message in compactable(window.view) if any(block.seq in going for block in message.blocks)]


def _effect(window: Window, planned: Plan) -> Iterator[str]:
    going, gone = planned.summarised, _gone(window, planned)
    if gone:
        tokens = sum(map(window.size, gone))
        which = plural(len(gone), "message")
        yield f"Summarised: {which} (records {min(going)} to {max(going)}), {tokens:,} tokens."
    kept = f"Kept word for word: {plural(len(planned.kept), 'record')}"
    yield f"{kept}, {len(planned.pinned)} of them pinned." if planned.pinned else f"{kept}."
    share = 1 - planned.tokens_after_estimate / planned.tokens_before if planned.tokens_before else 0.0
    yield f"Tokens: {planned.tokens_before:,} now, about {planned.tokens_after_estimate:,} afterwards ({share:.0%} less)."


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


MOST_AT_ONCE = 3
"""Most compactions before one request, equal to the most calls of the summariser for one prompt."""
LAST_RESORT: PolicyName = "auto"
"""The policy that compacts if the one in force can free nothing and the prompt does not fit."""


def compactions(window: Callable[[], Window], *, boundary: bool, futile: Callable[[], int]) -> Iterator[Plan]:
    """Yield plans to carry out one by one before a request. `window` returns the current window for each plan.

    The policy's plan comes first if it is due. While the prompt is larger than the usable size, other plans follow.
    `boundary` means that a prompt waits for its answer. `futile` returns the size of `worth_trying`. A resumed session
    reads it from disk, so it is called only if it matters.
    """
    now = window()
    if not now.settings.autocompact:
        return
    planned, failed = plan(now), list[Plan]()
    over = now.tokens > now.usable
    # Beyond the usable size, a plan that does nothing gives way to the others.
    due = planned.is_due(boundary) and (planned.does_something or not over)
    if due and (over or worth_trying(now, futile())):
        yield planned
        failed = [planned]
    for _ in range(MOST_AT_ONCE):
        before, now = now.tokens, window()
        if now.tokens <= now.usable:
            return
        if now.tokens < before:
            failed = []
        following = next((way for way in _ways_out(now) if not any(_same(way, other) for other in failed)), None)
        if following is None:
            return
        yield following
        failed.append(following)


def forced(window: Window) -> Plan:
    """Return the plan for a prompt that does not fit.

    It is the policy's own, or one of `LAST_RESORT` if the policy can free nothing. `regions` has only its own: its
    summaries are never summarised again.
    """
    own = plan(window, forced=True)
    return own if own.does_something else next(_ways_out(window), own)


def worth_trying(window: Window, futile: int) -> bool:
    """Return True if a compaction may do better than the last failed one.

    The view has grown or passed a mark since then. `futile` is the size in tokens at that failure, 0 if it did not
    fail.
    """
    size = window.tokens
    passed = any(futile < mark <= size for mark in (compacts_from(window), window.limits.hard))
    return passed or size > (1 + window.settings.retry_growth) * futile


def _ways_out(window: Window) -> Iterator[Plan]:
    """Yield plans that free room whatever the marks, the policy's own first."""
    own = plan(window, forced=True)
    if own.does_something:
        yield own
    if window.settings.policy not in (LAST_RESORT, "regions"):
        other = plan(replace(window, settings=replace(window.settings, policy=LAST_RESORT)), forced=True)
        if other.does_something:
            why = f"The policy {window.settings.policy} can free nothing more, so this compaction is one of {LAST_RESORT}."
            yield replace(other, reasons=(why, *other.reasons))
    if (cut := cut_plan(window)).does_something:
        yield cut


def _same(one: Plan, other: Plan) -> bool:
    return (one.summarised, one.clipped, one.regions) == (other.summarised, other.clipped, other.regions)

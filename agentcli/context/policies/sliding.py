"""A sliding window: the first messages, a summary of the middle, the newest messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from agentcli.context.limits import Limits
from agentcli.context.plan import Plan, PlanTrigger
from agentcli.context.policies.stretch import divided, nothing, stretch
from agentcli.context.settings import PRESETS, ContextSettings, SlidingSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View, ViewMessage

POLICY = "sliding"


def plan(view: View, limits: Limits, counts: Counts, settings: ContextSettings, *, forced: bool = False) -> Plan:
    """At `trigger` of the token budget, or with more messages than the window holds: primers, summary, recents.

    There are fewer recents than asked for only where they would not fit into the aim.
    """
    rules = settings.sliding
    before = counts.prompt(view)
    budget = rules.budget or rules.task_budget or limits.usable
    budget = min(budget, limits.usable)
    messages = stretch(view)
    most = min(filter(None, (rules.window, rules.max_history)), default=len(messages))
    full, many = before >= budget * rules.trigger, len(messages) > most
    if not forced and not (settings.autocompact and (full or many)):
        return nothing(
            POLICY, view, before, f"{before:,} of {budget:,} tokens are in use, less than {rules.trigger:.0%}."
        )
    first = primers(messages, rules.primers)
    at = recents(messages, rules, counts, int(budget * rules.aim) - counts.head - _size(messages[:first], counts))
    # A budget does not wait for the end of a turn.
    trigger: PlanTrigger = "manual" if forced else "hard"
    if at <= first:
        why = f"All {len(messages)} messages are among the first {rules.primers} or the newest {rules.recents}."
        return nothing(POLICY, view, before, why, trigger=trigger)
    return divided(
        POLICY,
        trigger,
        view,
        counts,
        before,
        at,
        rules.summary_tokens,
        f"{before:,} of {budget:,} tokens and {len(messages)} messages are in use.",
        f"Will keep the first {first} and the newest {len(messages) - at} messages and summarise {at - first} between them.",
        primers=first,
    )


def primers(messages: Sequence[ViewMessage], wanted: int) -> int:
    """How many messages stay in front: those wanted, and the results of the last one's calls."""
    first = min(wanted, len(messages))
    return first + 1 if 0 < first < len(messages) and messages[first - 1].calls else first


def recents(messages: Sequence[ViewMessage], rules: SlidingSettings, counts: Counts, room: int) -> int:
    """Where the newest messages begin: as many as wanted, fewer if they do not fit into `room` tokens, never a result
    without its call."""
    wanted = min(rules.recents, rules.max_history or rules.recents)
    at = _with_call(messages, max(0, len(messages) - wanted))
    kept = _size(messages[at:], counts)
    for later in range(at + 1, len(messages)):
        if kept <= room:
            break
        if not messages[later].has_results:
            kept -= _size(messages[at:later], counts)
            at = later
    return at


def resolve(
    request: Mapping[str, Any], preset: str, environment: Mapping[str, Any], config: Mapping[str, Any]
) -> SlidingSettings:
    """The settings in force: what the run asks for, then the preset, then environment, then config, then the defaults.

    Each mapping names fields of SlidingSettings; others are ignored. Raises KeyError for a preset that does not exist.
    """
    known = {field.name for field in fields(SlidingSettings)}
    chosen: dict[str, Any] = {}
    for layer in (config, environment, PRESETS[preset] if preset else {}, request):
        chosen |= {name: value for name, value in layer.items() if name in known and value is not None}
    return replace(SlidingSettings(), **chosen)


def _with_call(messages: Sequence[ViewMessage], at: int) -> int:
    return at - 1 if 0 < at < len(messages) and messages[at].has_results else at


def _size(messages: Sequence[ViewMessage], counts: Counts) -> int:
    return sum(map(counts.message, messages))

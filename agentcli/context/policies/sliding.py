"""A sliding window: the first messages, a summary of the middle, the newest messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentcli.context.compaction.carryover import former_compaction
from agentcli.context.ledger.ledger import from_json
from agentcli.context.ledger.standing_rules import rule_sentences
from agentcli.context.policies.plans import Plan, PlanTrigger, compactable, keep_all, recent_from, split_plan
from agentcli.context.view import ViewMessage
from agentcli.context.window import Window
from agentcli.core.message import Text

POLICY = "sliding"


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Plan at `trigger` of the token budget, or with more messages than the window allows.

    Primers, a summary and the recents remain. There are fewer recents than configured only if they would not fit into
    the aim. There are more if the newest tokens or the model's newest answer begin further back. A limit on the number
    of messages takes precedence.
    """
    rules, before, budget = window.settings.sliding, window.tokens, _budget(window)
    messages = compactable(window.view)
    most = min(filter(None, (rules.window, rules.max_history)), default=len(messages))
    full, many = before >= threshold(window), len(messages) > most
    if not forced and not (window.settings.autocompact and (full or many)):
        return keep_all(POLICY, window, f"{before:,} of {budget:,} tokens are in use, less than {rules.trigger:.0%}.")
    first = primers(messages, rules.primers)
    room = int(budget * rules.aim) - window.counter.head - _size(messages[:first], window) - _summary(window)
    at = recents(messages, window, room, _latest(messages, window, full, first))
    # A budget does not wait for the end of a turn.
    trigger: PlanTrigger = "manual" if forced else "hard"
    if at <= first:
        why = f"All {len(messages)} messages are among the first {rules.primers} or the newest {rules.recents}."
        return keep_all(POLICY, window, why, trigger=trigger)
    return split_plan(
        POLICY,
        trigger,
        window,
        at,
        rules.summary_tokens,
        f"{before:,} of {budget:,} tokens and {len(messages)} messages are in use.",
        f"Will keep the first {first} and the newest {len(messages) - at} messages and summarise {at - first} between them.",
        primers=first,
    )


def threshold(window: Window) -> int:
    """Return the size in tokens from which it compacts, however few the messages."""
    return math.ceil(_budget(window) * window.settings.sliding.trigger)


def _budget(window: Window) -> int:
    rules = window.settings.sliding
    return min(rules.budget or rules.task_budget or window.usable, window.usable)


def _summary(window: Window) -> int:
    """Return the tokens of the summary and of the user's rules below it."""
    former = former_compaction(window.view)
    rules = {rule.text for rule in from_json(former.ledger).rules} if former else set()
    for block in window.view.blocks:
        if block.source == "user" and isinstance(block.part, Text):
            rules |= {*rule_sentences(block.part.text, window.settings.ledger)}
    return window.settings.sliding.summary_tokens + sum(map(window.counter.text, rules))


def primers(messages: Sequence[ViewMessage], wanted: int) -> int:
    """Return the number of messages that stay in front: `wanted`, and the results of the last one's calls."""
    first = min(wanted, len(messages))
    return first + 1 if 0 < first < len(messages) and messages[first - 1].calls else first


def recents(messages: Sequence[ViewMessage], window: Window, room: int, latest: int) -> int:
    """Return the index of the first recent message: as many as wanted, fewer if they exceed `room` tokens.

    Messages from `latest` on always stay, and a result never stays without its call.
    """
    rules = window.settings.sliding
    wanted = min(rules.recents, rules.max_history or rules.recents)
    at = _with_call(messages, min(latest, max(0, len(messages) - wanted)))
    kept = _size(messages[at:], window)
    for later in range(at + 1, latest + 1):
        if kept <= room:
            break
        if not messages[later].has_results:
            kept -= _size(messages[at:later], window)
            at = later
    return at


def _latest(messages: Sequence[ViewMessage], window: Window, full: bool, first: int) -> int:
    """Return the index of the first message that stays even if the aim is missed.

    It is the last message if the budget would remain full otherwise.
    """
    last = max(0, len(messages) - 1)
    tokens = window.settings.recent(_budget(window)) if full else 0
    latest = min(last, recent_from(messages, [window.size(message) for message in messages], tokens))
    head = window.counter.head + _size(messages[:first], window)
    count = window.settings.sliding.max_history or len(messages)
    fits = head + _size(messages[latest:], window) < threshold(window) and len(messages) - latest <= count
    return latest if fits else last


def hard(window: Window) -> int:
    """Return the size in tokens from which it compacts a second time in a turn."""
    return int(_budget(window) * window.settings.hard)


def _with_call(messages: Sequence[ViewMessage], at: int) -> int:
    return at - 1 if 0 < at < len(messages) and messages[at].has_results else at


def _size(messages: Sequence[ViewMessage], window: Window) -> int:
    return sum(map(window.size, messages))

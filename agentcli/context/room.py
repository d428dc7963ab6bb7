"""Compactions before a request: the policy's own, and others to free room if the prompt does not fit. Live and in the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentcli.context.policies import compacts_from, plan
from agentcli.context.policies.plans import Plan
from agentcli.context.settings import PolicyName
from agentcli.context.window import Window
from agentcli.core.dataclass import replace

MOST_AT_ONCE = 3
"""Most compactions before one request, equal to the most calls of the summariser for one prompt."""
LAST_RESORT: PolicyName = "auto"
"""The policy that compacts if the one in force can free nothing and the prompt does not fit."""


def compactions(window: Callable[[], Window], *, boundary: bool, futile: Callable[[], int]) -> Iterator[Plan]:
    """Yield plans to carry out one by one before a request. `window` returns the current window for each plan.

    The policy's plan comes first if it is due; while the prompt is larger than the usable size, other plans follow until it
    fits. `boundary`: a prompt waits for its answer. `futile` returns the size of `worth_trying`;
    a resumed session reads it from disk, so it is called only if it matters.
    """
    now = window()
    if not now.settings.autocompact:
        return
    planned, failed = plan(now), None
    over = now.tokens > now.usable
    if planned.is_due(boundary) and (over or worth_trying(now, futile())):
        yield planned
        failed = planned
    for _ in range(MOST_AT_ONCE):
        before, now = now.tokens, window()
        if now.tokens <= now.usable:
            return
        if now.tokens < before:
            failed = None
        following = next((each for each in _ways_out(now) if failed is None or not _same(each, failed)), None)
        if following is None:
            return
        yield following
        failed = following


def forced(window: Window) -> Plan:
    """Return the plan for a prompt that does not fit: the policy's own, or one of `LAST_RESORT` if the policy can free nothing.

    `regions` has only its own: its summaries are never summarised again.
    """
    own = plan(window, forced=True)
    return own if own.does_something else next(_ways_out(window), own)


def worth_trying(window: Window, futile: int) -> bool:
    """Return True if a compaction may do better than the last failed one: the view has grown or passed a mark since.

    `futile` is the size in tokens at that failure, 0 if it did not fail.
    """
    size = window.tokens
    passed = any(futile < mark <= size for mark in (compacts_from(window), window.limits.hard))
    return passed or size > (1 + window.settings.retry_growth) * futile


def _ways_out(window: Window) -> Iterator[Plan]:
    """Yield plans that free room whatever the marks, the policy's own first."""
    own = plan(window, forced=True)
    if own.does_something:
        yield own
    if window.settings.policy in (LAST_RESORT, "regions"):
        return
    other = plan(replace(window, settings=replace(window.settings, policy=LAST_RESORT)), forced=True)
    if other.does_something:
        why = f"The policy {window.settings.policy} can free nothing more, so this compaction is one of {LAST_RESORT}."
        yield replace(other, reasons=(why, *other.reasons))


def _same(one: Plan, other: Plan) -> bool:
    return (one.summarised, one.clipped, one.regions) == (other.summarised, other.clipped, other.regions)

"""Where in a window something begins by itself, as far as that can be said beforehand."""

from __future__ import annotations

from agentcli.context.limits import Limits
from agentcli.context.settings import PRUNING, ContextSettings


def prunes_from(limits: Limits, settings: ContextSettings) -> int:
    """The size of the window, in tokens, below which no output is cleared while the cache is warm; 0 where none ever is.

    What is protected and what is worth an edit must both be there. Above it, it depends on what is old and what it costs.
    """
    prune = settings.prune
    if not prune.enabled or settings.policy not in PRUNING:
        return 0
    if settings.policy == "opencode":
        return prune.protect + prune.minimum
    return prune.protected(limits.usable) + prune.worthwhile(limits.usable)


def compacts_from(limits: Limits, settings: ContextSettings) -> int:
    """The size of the window, in tokens, at which the policy compacts by itself; 0 where it does not, or where its rule has no size."""
    if not settings.autocompact:
        return 0
    match settings.policy:
        case "gemini":
            return int(settings.gemini.threshold * settings.gemini.limits.get(limits.model, settings.gemini.limit))
        case "opencode":
            reserve = settings.opencode.output_reserve
            return limits.window - min(limits.max_output or reserve, reserve)
        case "regions":
            return int(limits.window * settings.regions.soft)
        case "sliding":
            rules = settings.sliding
            return int(min(rules.budget or rules.task_budget or limits.usable, limits.usable) * rules.trigger)
        case "auto":
            return limits.soft


def compacts_early_from(limits: Limits, settings: ContextSettings) -> int:
    """The size, in tokens, from which `auto` also compacts where that pays; 0 where nothing is compacted before its mark."""
    if settings.policy != "auto" or not settings.autocompact or settings.compact_horizon <= 0:
        return 0
    early = max(int(limits.usable * settings.compact_floor), settings.compact_least)
    return early if early < limits.soft else 0

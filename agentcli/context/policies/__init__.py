"""Policies by name, each a class that says how it differs. The plans lie in one module each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import QUARTER, Calibrated, Chars4
from agentcli.context.window import Window, is_priced, worth_a_price
from agentcli.core.errors import ConfigError
from agentcli.core.record import Compaction, Prune
from agentcli.core.text.words import one_of

if TYPE_CHECKING:
    from agentcli.context.policies.plans import Plan
    from agentcli.context.pruning.plan import Pressure

Form = Literal["snapshot", "prose", "regions"]
"""The form of a summary: a state snapshot, free text, or one text for each region of outputs."""


PruneMoment = Literal["", "prompt", "request"]
"""When a policy clears old outputs: never, after an answered prompt, or before each request."""


class Policy:
    """A way to compact: when and what, the summariser's prompt, and the form of the summary.

    A policy imports its module with its first plan, so that a run loads nothing of the others.
    """

    prompt: str = "compact.md"
    """The prompt of the summariser, a file of prompts/."""
    form: Form = "snapshot"
    keeps_prompts: bool = False
    """The user's prompts are carried verbatim."""
    items: bool = False
    """The summariser writes only new items and removes obsolete ones instead of writing the whole snapshot."""
    priced: bool = False
    """A snapshot lists only items worth their tokens."""
    stricter: bool = True
    """A result must be smaller by `min_shrink`; otherwise it must only not be larger."""
    by_provider: bool = False
    """The provider of the session's model summarises if it can."""
    prunes: PruneMoment = ""
    """When it clears old outputs by itself."""
    prunes_if_it_pays: bool = False
    """From the size that `prunes_from` returns, it clears outputs only if that saves money."""
    waits: bool = False
    """Between its own mark and the hard one, it compacts only when a prompt waits for its answer."""

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        """Plan a compaction now, without carrying it out. `forced`: the user requests it, or the window requires it."""
        raise NotImplementedError

    def threshold(self, window: Window) -> int:
        """Return the size of the prompt, in tokens, from which it compacts."""
        return window.limits.soft

    def early(self, window: Window) -> int:
        """Return the size from which it compacts if that pays; 0 if it never does."""
        return 0

    def hard(self, window: Window) -> int:
        """Return the size from which it compacts a second time in a turn."""
        return window.limits.hard

    def prune(self, window: Window, pressure: Pressure) -> tuple[Prune | None, str]:
        """Return the prune to make now, if any, and the reason for or against it: the one that pays."""
        from agentcli.context.pruning.plan import by_price

        return by_price(window, pressure)

    def prunes_from(self, window: Window) -> int:
        """Return the size below which nothing is cleared while the cache is warm."""
        from agentcli.context.pruning.plan import pays_from

        return pays_from(window)


class Auto(Policy):
    """The default: weighs price against what the work needs in view."""

    keeps_prompts = items = priced = prunes_if_it_pays = waits = True
    prunes = "request"

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import auto

        return auto.plan(window, forced=forced)

    def early(self, window: Window) -> int:
        size = worth_a_price(window) if is_priced(window) else 0
        return size if size < window.limits.soft else 0


class Native(Auto):
    """`auto` for what the provider's own clearing leaves."""

    prunes_if_it_pays = False

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import native

        return native.plan(window, forced=forced)

    def early(self, window: Window) -> int:
        return 0

    def prune(self, window: Window, pressure: Pressure) -> tuple[Prune | None, str]:
        from agentcli.context.policies import native

        return native.prune(window, pressure)

    def prunes_from(self, window: Window) -> int:
        from agentcli.context.policies import native

        return native.clears_from(window)


class Provider(Auto):
    """`auto` with the provider's own summaries."""

    by_provider = True

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import provider

        return provider.plan(window, forced=forced)

    def early(self, window: Window) -> int:
        return 0


class Gemini(Policy):
    """The rule of Gemini CLI."""

    stricter = False

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import gemini

        return gemini.plan(window, forced=forced)

    def threshold(self, window: Window) -> int:
        from agentcli.context.policies import gemini

        return gemini.threshold(window)


class Opencode(Policy):
    """The rule of opencode."""

    prompt, form, prunes = "compact-opencode.md", "prose", "prompt"

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import opencode

        return opencode.plan(window, forced=forced)

    def threshold(self, window: Window) -> int:
        from agentcli.context.policies import opencode

        return opencode.threshold(window)

    def prune(self, window: Window, pressure: Pressure) -> tuple[Prune | None, str]:
        from agentcli.context.policies import opencode

        return opencode.prune(window, pressure)

    def prunes_from(self, window: Window) -> int:
        from agentcli.context.policies import opencode

        return opencode.prunes_from(window)


class Regions(Policy):
    """Summaries of regions of outputs, in their place."""

    prompt, form, waits = "compact-regions.md", "regions", True

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import regions

        return regions.plan(window, forced=forced)

    def threshold(self, window: Window) -> int:
        from agentcli.context.policies import regions

        return regions.threshold(window)

    def hard(self, window: Window) -> int:
        from agentcli.context.policies import regions

        return regions.hard(window)


class Sliding(Policy):
    """A window of messages that slides: first ones, a summary, recent ones."""

    prompt, form = "compact-sliding.md", "prose"

    def plan(self, window: Window, *, forced: bool = False) -> Plan:
        from agentcli.context.policies import sliding

        return sliding.plan(window, forced=forced)

    def threshold(self, window: Window) -> int:
        from agentcli.context.policies import sliding

        return sliding.threshold(window)

    def hard(self, window: Window) -> int:
        from agentcli.context.policies import sliding

        return sliding.hard(window)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "auto": Auto(),
        "gemini": Gemini(),
        "opencode": Opencode(),
        "regions": Regions(),
        "sliding": Sliding(),
        "native": Native(),
        "provider": Provider(),
    }
)


def policy_named(name: str) -> Policy:
    """Return the policy of that name. Raise ConfigError, which lists the valid names, if there is none."""
    if name not in POLICIES:
        raise ConfigError(f"There is no context policy {name!r}.{one_of(name, POLICIES)}")
    return POLICIES[name]


def policy_of(window: Window) -> Policy:
    """Return the policy in force. Raise ConfigError if it does not exist."""
    return policy_named(window.settings.policy)


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Return the plan of the policy in force, or an empty plan if the last compaction was just now.

    Raise ConfigError for an unknown policy.
    """
    from agentcli.context.policies.plans import keep_all

    proposed = policy_of(window).plan(window, forced=forced)
    too_soon = "" if forced or proposed.trigger is None else _too_soon(window, proposed)
    return keep_all(window.settings.policy, window, too_soon) if too_soon else proposed


def _too_soon(window: Window, proposed: Plan) -> str:
    """Return why an automatic compaction would follow the last one too soon, or an empty text.

    A second compaction in a turn waits for the hard mark. After a manual one, a compaction that only saves money waits
    for new content.
    """
    last = window.view.compaction
    if last is None or not isinstance(last.body, Compaction):
        return ""
    turn, hard = max(message.turn for message in window.view.messages), policy_of(window).hard(window)
    if last.body.trigger != "manual" and last.body.carry.turn == turn and window.tokens < hard:
        return f"This turn was compacted before, and {window.tokens:,} tokens are below the hard mark of {hard:,}."
    if last.body.trigger == "manual" and proposed.optional:
        new = sum(window.size(block) for block in window.view.blocks if block.seq > last.seq)
        if new < window.settings.compact_least:
            return f"Only {new:,} tokens are new since the last compaction."
    return ""


def plan_prune(window: Window, pressure: Pressure | None = None) -> tuple[Prune | None, str]:
    """Return the prune that the current policy would make now, if any, and a line that explains the decision.

    Call it only while no call is open. If the policy has no rule of its own, a prune requested by the user goes by
    price.
    """
    from agentcli.context.pruning.plan import NONE

    policy, forced = policy_of(window), pressure is not None and pressure.forced
    if not window.settings.prune.enabled and not forced:
        return None, "Pruning is switched off."
    if not policy.prunes and not forced:
        return None, f"The policy {window.settings.policy} does not prune."
    return policy.prune(window, pressure or NONE)


def prunes_from(window: Window) -> int:
    """Return the prompt size in tokens below which no output is cleared while the cache is warm.

    Return 0 if the policy never clears outputs.
    """
    policy = policy_of(window)
    return policy.prunes_from(window) if policy.prunes and window.settings.prune.enabled else 0


def compacts_from(window: Window) -> int:
    """Return the size of the prompt, in tokens, at which the policy compacts automatically; 0 if it does not."""
    return policy_of(window).threshold(window) if window.settings.autocompact else 0


def compacts_in_turn_from(window: Window) -> int:
    """Return the size in tokens at which the policy also compacts between two steps of a turn; 0 for never."""
    policy, own = policy_of(window), compacts_from(window)
    return max(own, policy.hard(window)) if own and policy.waits else own


def compacts_early_from(window: Window) -> int:
    """Return the size in tokens from which the policy may compact to save money; 0 if it never does."""
    return policy_of(window).early(window) if window.settings.autocompact else 0


def worth_counting(window: Window, *, boundary: bool = False) -> bool:
    """Return True if an exact count is worth a request.

    It is if the estimate is close to a mark, or exceeds the usable size but may be wrong. At a `boundary` between turns
    the policy compacts from its own mark on: a hard mark above it decides nothing.
    """
    if window.tokens > window.usable:
        rule, most = window.counter.rule, TOO_MUCH * window.usable
        # At a higher rate the estimate is the larger one, and it is known.
        if isinstance(rule, Calibrated) and rule.rate >= QUARTER and window.counter.view(window.view) <= most:
            return True
        return TokenCounter(Chars4()).view(window.view) <= most
    own, hard = compacts_from(window), window.limits.hard
    marks = (own, window.usable) if boundary and 0 < own < hard else _marks(window)
    return any(abs(window.tokens - mark) <= _margin(window) for mark in marks)


def nothing_due(window: Window) -> bool:
    """Return True before the first call while every mark is far away: then no policy clears, summarises or counts anything."""
    messages, most = window.view.messages, window.tokens + _margin(window)
    if most >= min(*_marks(window), policy_of(window).hard(window)):
        return False
    if len(messages) > 1 and most >= (compacts_early_from(window) or math.inf):
        return False
    return not any(message.calls or message.has_results for message in messages)


def _margin(window: Window) -> float:
    """Return the tokens around a mark within which an estimate is too rough."""
    return window.settings.exact_count_margin * window.usable


def _marks(window: Window) -> Sequence[int]:
    """Return the sizes, in tokens, at which it matters how large a prompt is exactly."""
    return [*filter(None, (compacts_from(window), window.limits.hard, window.usable))]


TOO_MUCH = 2
"""Multiple of the usable size above which a prompt, even at four characters a token, needs no exact count.

The current estimator cannot decide this: for Cyrillic or Greek its result can be four times too high.
"""

"""Policies by name, each defined in one line by its differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.record import Compaction, Prune

if TYPE_CHECKING:
    from agentcli.context.policies.plans import Plan
    from agentcli.context.pruning.plan import Pressure

Form = Literal["snapshot", "prose", "regions"]
"""The form of a summary: a state snapshot, free text, or one text for each region of outputs."""
Threshold = Callable[[Window], int]
"""A size of the prompt in tokens from which something happens automatically; 0 if it never does."""


class Planner(Protocol):
    """Plans a compaction now, without carrying it out. `forced`: the user requests it, or the window requires it."""

    def __call__(self, window: Window, *, forced: bool = False) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Pruner:
    """A policy's rule for clearing old outputs.

    `plan` returns the prune to make now, if any, and the reason for or against it. Below `threshold` nothing is cleared
    while the cache is warm. With `once_a_prompt` it is called only after an answered prompt, otherwise before each
    request.
    """

    plan: Callable[[Window, Pressure], tuple[Prune | None, str]]
    threshold: Threshold
    once_a_prompt: bool = False


def _never(_: Window) -> int:
    return 0


def _soft_mark(window: Window) -> int:
    return window.limits.soft


def _hard_mark(window: Window) -> int:
    return window.limits.hard


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to compact: when and what (`plan`), the prompt of the summariser (`prompt`, a file of prompts/), and the form of the summary.

    `threshold` is the size from which it compacts, `early` the size from which it does so if that pays, `hard` the size from
    which it compacts a second time in a turn. `prune` is its rule for old outputs, if it clears any. `keeps_prompts`: the user's
    prompts are carried verbatim; `items`: the summariser writes only new items and removes obsolete ones instead of writing the
    whole snapshot; `priced`: a snapshot lists only items worth their tokens; `stricter`: a result must be smaller by `min_shrink`
    (otherwise it must only not be larger); `by_provider`: the provider of the session's model summarises if it can.
    """

    plan: Planner
    threshold: Threshold
    prompt: str
    form: Form
    early: Threshold = _never
    hard: Threshold = _hard_mark
    prune: Pruner | None = None
    keeps_prompts: bool = False
    items: bool = False
    priced: bool = False
    stricter: bool = True
    by_provider: bool = False


def _late(policy: str, name: str) -> Callable[..., Any]:
    """Return a function of a policy's module, which is imported when the function is called."""

    def run(*given: Any, **named: Any) -> Any:
        return getattr(import_module(f"{__name__}.{policy}"), name)(*given, **named)

    return run


def _by_price(window: Window, pressure: Pressure) -> tuple[Prune | None, str]:
    from agentcli.context.pruning.plan import by_price

    return by_price(window, pressure)


def _pays_from(window: Window) -> int:
    from agentcli.context.pruning.plan import pays_from

    return pays_from(window)


_PRICED = Pruner(_by_price, _pays_from)
_TO_THE_LETTER = Pruner(_late("opencode", "prune"), _late("opencode", "prunes_from"), once_a_prompt=True)

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "auto": Policy(
            _late("auto", "plan"),
            _soft_mark,
            "compact.md",
            "snapshot",
            _late("auto", "early"),
            prune=_PRICED,
            keeps_prompts=True,
            items=True,
            priced=True,
        ),
        "gemini": Policy(
            _late("gemini", "plan"), _late("gemini", "threshold"), "compact.md", "snapshot", stricter=False
        ),
        "opencode": Policy(
            _late("opencode", "plan"),
            _late("opencode", "threshold"),
            "compact-opencode.md",
            "prose",
            prune=_TO_THE_LETTER,
        ),
        "regions": Policy(
            _late("regions", "plan"),
            _late("regions", "threshold"),
            "compact-regions.md",
            "regions",
            hard=_late("regions", "hard"),
        ),
        "sliding": Policy(
            _late("sliding", "plan"),
            _late("sliding", "threshold"),
            "compact-sliding.md",
            "prose",
            hard=_late("sliding", "hard"),
        ),
        "native": Policy(
            _late("native", "plan"),
            _soft_mark,
            "compact.md",
            "snapshot",
            prune=Pruner(_late("native", "prune"), _late("native", "clears_from")),
            keeps_prompts=True,
            items=True,
            priced=True,
        ),
        "provider": Policy(
            _late("provider", "plan"),
            _soft_mark,
            "compact.md",
            "snapshot",
            prune=_PRICED,
            keeps_prompts=True,
            items=True,
            priced=True,
            by_provider=True,
        ),
    }
)


def policy_named(name: str) -> Policy:
    """Return the policy of that name. Raise ConfigError, which lists the valid names, if there is none."""
    if name not in POLICIES:
        raise ConfigError(f"There is no context policy {name!r}. Choose one of {', '.join(POLICIES)}.")
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

    A second one in a turn waits for the hard mark; after a manual compaction, one made only for its price waits for new
    content.
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
    """Return the prune that the policy in force would make now, if any, and the reason for or against it, a line for
    people.

    Call it only while no call is open. If the policy has no rule, a prune requested by the user goes by price.
    """
    from agentcli.context.pruning.plan import NONE

    pruner, forced = policy_of(window).prune, pressure is not None and pressure.forced
    if not window.settings.prune.enabled and not forced:
        return None, "Pruning is switched off."
    if pruner is None and not forced:
        return None, f"The policy {window.settings.policy} does not prune."
    return (pruner or _PRICED).plan(window, pressure or NONE)


def prunes_from(window: Window) -> int:
    """Return the size of the prompt, in tokens, below which no output is cleared while the cache is warm; 0 if none ever is."""
    pruner = policy_of(window).prune
    return pruner.threshold(window) if pruner and window.settings.prune.enabled else 0


def compacts_from(window: Window) -> int:
    """Return the size of the prompt, in tokens, at which the policy compacts automatically; 0 if it does not."""
    return policy_of(window).threshold(window) if window.settings.autocompact else 0


def compacts_early_from(window: Window) -> int:
    """Return the size, in tokens, from which it also compacts if that pays; 0 if nothing is compacted before its mark."""
    return policy_of(window).early(window) if window.settings.autocompact else 0


def worth_counting(window: Window) -> bool:
    """Return True if an exact count is worth a request: the estimate is close to a mark, or above the usable size but
    possibly wrong.
    """
    if window.tokens > window.usable:
        return TokenCounter(Chars4()).view(window.view) <= TOO_MUCH * window.usable
    return any(abs(window.tokens - mark) <= _margin(window) for mark in _marks(window))


def nothing_due(window: Window) -> bool:
    """Return True before the first reply while every mark is far away: then no policy clears, summarises or counts anything."""
    messages = window.view.messages
    if len(messages) != 1 or messages[0].role != "user" or messages[0].has_results:
        return False
    return window.tokens + _margin(window) < min(*_marks(window), policy_of(window).hard(window))


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

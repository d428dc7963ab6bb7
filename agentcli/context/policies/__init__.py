"""The policies by name: each a pure planner and the prompt for its summaries; nothing else differs between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

from agentcli.context.limits import Limits
from agentcli.context.plan import Plan
from agentcli.context.policies import auto, gemini, opencode, regions, sliding
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View
from agentcli.core.errors import ConfigError

Form = Literal["snapshot", "prose", "regions"]
"""What a summary looks like: a state snapshot, free text, or one text for each region of outputs."""


class Planner(Protocol):
    """Decides what a compaction would do now, without doing anything. `forced`: the user asks, or the window demands it."""

    def __call__(
        self, view: View, limits: Limits, counts: Counts, settings: ContextSettings, *, forced: bool = False
    ) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to compact: when and what (`plan`), with which words (`prompt`, a file of prompts/), into which form.

    `keeps_words` says whether the user's own words are carried verbatim, `stricter` whether a result must be smaller by
    `min_shrink` (else it must only not be larger).
    """

    plan: Planner
    prompt: str
    form: Form
    keeps_words: bool = False
    stricter: bool = True


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "auto": Policy(auto.plan, "compact.md", "snapshot", keeps_words=True),
        "gemini": Policy(gemini.plan, "compact.md", "snapshot", stricter=False),
        "opencode": Policy(opencode.plan, "compact-opencode.md", "prose"),
        "regions": Policy(regions.plan, "compact-regions.md", "regions"),
        "sliding": Policy(sliding.plan, "compact-sliding.md", "prose"),
    }
)


def policy_named(name: str) -> Policy:
    """The policy of that name. Raises ConfigError, which names those there are."""
    if name not in POLICIES:
        raise ConfigError(f"There is no context policy {name!r}. Choose one of {', '.join(POLICIES)}.")
    return POLICIES[name]


def plan(
    policy: str, view: View, limits: Limits, counts: Counts, settings: ContextSettings, *, forced: bool = False
) -> Plan:
    """What the policy would do with the view now. Raises ConfigError for a policy that does not exist."""
    return policy_named(policy).plan(view, limits, counts, settings, forced=forced)

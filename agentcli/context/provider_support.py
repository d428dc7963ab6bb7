"""Why a model cannot follow a policy that needs a provider's own feature.

Without such a policy, nothing imports this.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentcli.context.settings import NATIVE, PROVIDER
from agentcli.core.model import ModelSpec

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        NATIVE: "agentcli clears old outputs itself, by the policy auto.",
        PROVIDER: "agentcli summarises itself, by the policy auto.",
    }
)
"""By policy, what happens instead, for people."""
_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        NATIVE: "works only with Claude on Anthropic's own API",
        PROVIDER: "works only with models of Anthropic's and OpenAI's own APIs that can compact a conversation",
    }
)


def missing(policy: str, model: ModelSpec) -> str:
    """Return the reason why this model cannot follow the policy; empty if it can."""
    supported = {NATIVE: model.context_editing, PROVIDER: bool(model.compacts_from)}
    if supported.get(policy, True):
        return ""
    return f"The policy {policy} {_NEEDS[policy]}; {model.name} is another model."


def fallen_back(policy: str, model: ModelSpec) -> str:
    """Return that reason, and what happens instead."""
    return f"{missing(policy, model)} {INSTEAD[policy]}"

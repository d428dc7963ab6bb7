"""The policies that need a provider's own feature, and the reason why a model cannot follow one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentcli.core.model import ModelSpec

NATIVE, PROVIDER = "native", "provider"
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

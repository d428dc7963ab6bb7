"""What a preset makes of the context settings, between what a run asks for and what files say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcli.config import Config
from agentcli.context.policies.sliding import resolve
from agentcli.context.settings import ContextSettings

_SLIDING = "context.sliding."


def with_preset(config: Config) -> ContextSettings:
    """The context settings with the preset worked in: what this run asks for goes before it, environment and config after."""
    context = config.context
    if not context.preset:
        return context
    run, environment = _given(config, "--set", "flag"), _given(config, "environment")
    files = {key: value for key, value in _given(config).items() if key not in run and key not in environment}
    return replace(context, sliding=resolve(run, context.preset, environment, files))


def _given(config: Config, *places: str) -> Mapping[str, Any]:
    """What these places set of the sliding policy; without any, what all places do."""
    keys = [
        key for key, origin in config.origins.items() if key.startswith(_SLIDING) and (not places or origin in places)
    ]
    return {key.removeprefix(_SLIDING): config.get(key) for key in keys}

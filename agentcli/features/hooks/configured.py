"""Hooks of the user's config.toml: `[hooks] pre_compress` and each `[[hooks]]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.features.hooks.files import EVENTS, Hook
from agentcli.features.hooks.settings import HookSettings

PRE_COMPRESS = "PreCompress"
"""The older name of PreCompact in config.toml; its hooks get the session's folder as transcript."""
_KNOWN = (*EVENTS, PRE_COMPRESS)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "event": str,
    "command": str,
    "matcher": str,
    "timeout": (int, float),
}


def configured(settings: HookSettings) -> tuple[Hook, ...]:
    """Return the hooks that the configuration names. Raises ConfigError for one that makes no sense."""
    first = (Hook(PRE_COMPRESS, settings.pre_compress, timeout=settings.timeout),) if settings.pre_compress else ()
    return (*first, *(_hook(entry, settings.timeout) for entry in settings.commands))


def _hook(entry: Mapping[str, Any], timeout: float) -> Hook:
    if wrong := [key for key, value in entry.items() if not isinstance(value, _TYPES.get(key, ()))]:
        raise ConfigError(f"hooks: {wrong[0]} = {entry[wrong[0]]!r} is not valid. A hook has {', '.join(_TYPES)}.")
    hook = Hook(**{"event": "", "command": "", "timeout": timeout, **entry})
    if hook.event not in _KNOWN:
        raise ConfigError(f"hooks: there is no event {hook.event!r}. Use one of: {', '.join(_KNOWN)}.")
    if not hook.command:
        raise ConfigError(f"hooks: a hook for {hook.event} has no command.")
    try:
        re.compile(hook.matcher if hook.matcher != "*" else "")
    except re.error as error:
        raise ConfigError(f"hooks: the matcher {hook.matcher!r} is not a regular expression: {error}.") from error
    return hook

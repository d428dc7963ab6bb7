"""Where in a window something begins by itself, as far as that can be said beforehand."""

from __future__ import annotations

from agentcli.context.limits import Limits
from agentcli.context.settings import ContextSettings


def prunes_from(limits: Limits, settings: ContextSettings) -> int:
    """The size of the window, in tokens, below which no output is cleared while the cache is warm; 0 where none ever is.

    What is protected and what is worth an edit must both be there. Above it, it depends on what is old and what it costs.
    """
    prune = settings.prune
    if not prune.enabled or settings.policy not in ("auto", "opencode"):
        return 0
    if settings.policy == "opencode":
        return prune.protect + prune.minimum
    return min(prune.auto_protect, limits.usable // 4) + max(prune.least, min(prune.minimum, limits.usable // 8))

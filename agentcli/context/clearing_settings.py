"""Settings of the clearing by the provider: `[context.native]`."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.text.ranges import Positive, Share


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """`context.native.*`: clearing of old outputs by the provider itself. Sizes in tokens.

    Outputs of `prune.protected_tools` stay; the inputs of edits are cleared as well unless `prune.inputs` is false.
    """

    trigger: Positive = 100_000
    """Size of the prompt beyond which it clears."""
    trigger_share: Share = 0.5
    """Upper bound of `trigger` on a small window, as a share of the usable window."""
    keep: Positive = 3
    """Newest tool uses that stay; more where `context.keep_recent`, a pin or the running step requires it."""
    clear_at_least: int = 20_000
    """Tokens that it must free at once, at most a quarter of `trigger`, since the cache is rewritten."""
    thinking_turns: int = 0
    """Newest turns whose thoughts stay; 0: all, which preserves the cache."""

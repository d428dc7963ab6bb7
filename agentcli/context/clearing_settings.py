"""Settings of the clearing by the provider: `[context.native]`."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.text.ranges import Positive, Share


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """`context.native.*`: clearing of old outputs by the provider itself. Sizes in tokens.

    It clears nothing of the tools in `prune.protected_tools`, and inputs of edits unless `prune.inputs` is false.
    """

    trigger: Positive = 100_000
    """Size of the prompt beyond which it clears."""
    trigger_share: Share = 0.5
    """Upper bound of `trigger` on a small window, as a share of what is usable."""
    keep: Positive = 3
    """The newest tool uses that stay; more where `context.keep_recent` tokens, a pin or the running step need them."""
    clear_at_least: int = 20_000
    """Tokens that it must free at once, at most a quarter of `trigger`: the cache is written anew."""
    thinking_turns: int = 0
    """The newest turns whose thoughts stay; 0: all, which spares the cache."""

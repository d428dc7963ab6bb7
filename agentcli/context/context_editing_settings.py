"""Settings of context editing by the provider: `[context.native]`."""

from __future__ import annotations

from typing import Annotated

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import setting
from agentcli.core.text.ranges import Range, Share, Tokens


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """`context.native.*`: context editing, by which the provider itself clears old outputs. Sizes in tokens.

    Outputs of `prune.protected_tools` stay; the inputs of edits are cleared as well unless `prune.inputs` is false.
    """

    trigger: Annotated[int, Range(1, unit="tokens")] = setting(100_000, project="free")
    """Size of the prompt beyond which it clears; at most half of the window."""
    trigger_share: Share = 0.5
    """Upper bound of `trigger` on a small window, as a share of the usable window."""
    keep: Annotated[int, Range(1, unit="tool uses")] = setting(3, project="free")
    """Newest that stay; more if something there is still needed."""
    clear_at_least: Tokens = setting(20_000, project="free")
    """It must free at least this much at once, since the cache is rewritten; at most a quarter of `trigger`."""
    thinking_turns: int = 0
    """Newest turns whose thoughts stay; 0: all, which preserves the cache."""

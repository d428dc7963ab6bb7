"""Settings of hooks: `[hooks]` and `[[hooks]]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import Seconds, setting


@dataclass(frozen=True, slots=True)
class HookSettings:
    """`[hooks]`: commands that run at events, with a JSON object on stdin. Only your own config.toml can set them."""

    pre_compress: str = setting("", project="never")
    """Command that runs before each compaction, as a hook of PreCompress."""
    timeout: Seconds = setting(30.0, project="never")
    """Time after which a hook is stopped."""
    commands: tuple[Mapping[str, Any], ...] = setting((), project="never")
    """The `[[hooks]]` tables: `event`, `command`, and optionally `matcher` and `timeout`."""

"""`[ui]` of the configuration: how the terminal looks and behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class UiSettings:
    """`[ui]`: the terminal. Sizes in lines or characters, times in seconds."""

    theme: Literal["auto", "light", "dark", "none"] = "auto"
    vi: bool = False
    thinking: bool = False
    output_lines: int = 5
    diff_lines: int = 60
    tail_rows: int = 14
    links: Literal["auto", "always", "never"] = "auto"
    """Whether addresses are links; `auto`: where the terminal is known to follow them."""
    notify: Literal["auto", "bell", "osc9", "off"] = "auto"
    notify_after: float = 20.0
    """Of work, after which its end is told."""
    idle_after: float = 30.0
    """Without work, after which the session is given a title."""
    paste_lines: int = 8
    paste_characters: int = 1_000
    history: int = 5_000
    replay: int = 12
    status_command: str = ""
    """Prints the fact `extra` of the status line."""
    status: str = ""
    """The facts of the status line in their order; empty for the usual ones."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Those of `agentcli.ui.input.keys.KEYS` that the person wants elsewhere."""

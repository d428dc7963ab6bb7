"""`[ui]` of the configuration: appearance and behaviour of the terminal."""

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
    """Write addresses as links; `auto`: on terminals known to follow them."""
    notify: Literal["auto", "bell", "osc9", "off"] = "auto"
    notify_after: float = 20.0
    """Seconds of work after which its end is notified."""
    idle_after: float = 30.0
    """Seconds of inactivity after which the session gets a title."""
    paste_lines: int = 8
    paste_characters: int = 1_000
    history: int = 5_000
    replay: int = 12
    status_command: str = ""
    """Command that prints the fact `extra` of the status line."""
    status: str = ""
    """The facts of the status line in their order; empty for the usual ones."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that replace those of `agentcli.ui.input.keys.KEYS`."""

"""`[ui]` of the configuration: appearance and behaviour of the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UiSettings:
    """`[ui]`: the terminal. Sizes in lines or characters, times in seconds."""

    theme: Literal["auto", "light", "dark", "none"] = "auto"
    """Colours; `auto` follows the background of the terminal."""
    vi: bool = False
    """Edit prompts with vi keys."""
    thinking: bool = False
    """Show thinking unfolded."""
    output_lines: int = 5
    """Lines of a tool's output that are shown before the rest is folded."""
    diff_lines: int = 60
    """Lines of a diff that are shown before the rest is folded."""
    tail_rows: int = 14
    """Rows at the bottom in which a block is drawn while it streams."""
    links: Literal["auto", "always", "never"] = "auto"
    """Write addresses as links; `auto`: on terminals known to follow them."""
    notify: Literal["auto", "bell", "osc9", "off"] = "auto"
    """How the end of long work is announced."""
    notify_after: float = 20.0
    """Seconds of work after which its end is notified."""
    idle_after: float = 30.0
    """Seconds of inactivity after which the session gets a title."""
    paste_lines: int = 8
    """Longer pastes are folded into a label: lines."""
    paste_characters: int = 1_000
    """Longer pastes are folded into a label: characters."""
    history: int = 5_000
    """Prompts that the input history keeps."""
    replay: int = 12
    """Messages that are shown when a session is resumed."""
    status_command: str = ""
    """Command that prints the fact `extra` of the status line."""
    status: str = ""
    """The facts of the status line in their order; empty for the usual ones."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that replace those of `agentcli.ui.input.keys.KEYS`."""

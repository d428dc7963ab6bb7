"""`[ui]` of the configuration: appearance and behaviour of the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import Dollars, Lines, Messages, Seconds, setting


@dataclass(frozen=True, slots=True)
class UiSettings:
    """`[ui]`: the terminal. Sizes in lines or characters, times in seconds."""

    theme: Literal["auto", "light", "dark", "none"] = setting("auto", project="never")
    """Colours; `auto` follows the background of the terminal."""
    vi: bool = setting(False, project="never")
    """Edit prompts with vi keys."""
    thinking: bool = setting(False, project="never")
    """Show thinking unfolded."""
    output_lines: Lines = setting(5, project="never")
    """Lines of a tool's output before the rest is folded."""
    diff_lines: Lines = setting(60, project="never")
    """Lines of a diff before the rest is folded."""
    links: Literal["auto", "always", "never"] = setting("auto", project="never")
    """Write addresses as links; `auto`: on terminals known to follow them."""
    notify: Literal["auto", "bell", "osc9", "off"] = setting("auto", project="never")
    """Announcement of the end of long work; `off` also keeps the title of the terminal's tab as it is."""
    notify_after: float = 20.0
    """Seconds of work whose end is announced."""
    idle_after: Seconds = setting(30.0, project="never")
    """Time without input after which a session gets its title."""
    cold_cost: Dollars = setting(0.25, project="never")
    """USD from which a line says that the next request finds a cold cache; 0: never."""
    replay: Messages = setting(12, project="never")
    """Messages shown when a session is resumed."""
    status_command: str = setting("", project="never")
    """Command that prints a line for the status line; see `agentcli help start`."""
    status: str = setting("", project="never")
    """Facts of the status line in their order; empty: the usual ones."""
    remote: bool = setting(False, project="never")
    """Share sessions: `agentcli attach` and `agentcli serve` reach them; see `agentcli help serve`."""
    keys: Mapping[str, str] = setting({}, project="never")
    """Keys of your own by action; see `agentcli help keys`."""

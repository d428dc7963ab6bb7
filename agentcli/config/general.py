"""Settings at the top level of config.toml."""

from __future__ import annotations

from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.record import Mode


@dataclass(frozen=True, slots=True)
class General:
    """Settings at the top level of config.toml."""

    model: str = ""
    """Default model: provider/model or an alias; empty: the newest of the first provider with a key."""
    mode: Mode = "ask"
    """Mode of a new session."""
    sandbox: Literal["auto", "require", "off"] = "auto"
    """Use of the sandbox: `auto` holds commands that nobody was asked about, where one works; `require` all of them, or none runs."""
    sandbox_network: bool = False
    """Let commands in the sandbox use the network."""
    add_dirs: tuple[str, ...] = ()
    """Folders that belong to every workspace."""

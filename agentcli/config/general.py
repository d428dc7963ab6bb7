"""Settings at the top level of config.toml."""

from __future__ import annotations

from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.record import Mode


@dataclass(frozen=True, slots=True)
class General:
    """Settings at the top level of config.toml."""

    model: str = ""
    """Default model, as provider/model or an alias; empty: the newest model of the first provider with a key."""
    mode: Mode = "ask"
    """Mode of a new session."""
    sandbox: Literal["auto", "require", "off"] = "auto"
    """`auto`: commands that nobody was asked about run in the sandbox, if one works; `require`: all commands do, or none runs; `off`: none does."""
    sandbox_network: bool = False
    """Let commands in the sandbox use the network."""
    add_dirs: tuple[str, ...] = ()
    """Folders that belong to every workspace."""

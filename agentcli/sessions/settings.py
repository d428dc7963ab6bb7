"""`[sessions]` of the configuration."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """`[sessions]`: how sessions are stored and displayed."""

    save_every: float = 1.0
    """Seconds between two saves of a streaming reply."""
    highlight: int = 20_000
    """Maximum characters of a piece of code that an exported page colours: more would take too long."""
    doctor: int = 100
    """Newest sessions that `agentcli doctor` reads whole; `agentcli sessions check` reads all."""

"""`[sessions]` of the configuration."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """`[sessions]`: how sessions are stored and displayed.

    `save_every` is how often a streaming reply is saved, in seconds. Code in an exported page that is longer than
    `highlight` characters is not coloured: that would take longer than it is worth. `doctor` is how many of the newest sessions
    `agentcli doctor` reads whole; `agentcli sessions check` reads all.
    """

    save_every: float = 1.0
    """Seconds between two saves of a streaming reply."""
    highlight: int = 20_000
    """Characters of code that an exported page colours at most."""
    doctor: int = 100
    """Sessions that `agentcli doctor` checks, the newest first."""

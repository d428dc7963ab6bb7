"""Commands that agentcli starts itself: hooks, servers, checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Started:
    """A command that agentcli starts itself: a line for the shell, or its words; `what` names it, `folder` is its working folder."""

    what: str
    command: str | Sequence[str]
    folder: Path

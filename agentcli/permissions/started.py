"""Commands that agentcli starts itself: hooks, servers, checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Started:
    """A command that agentcli itself starts: a shell line, or its words; `what` is its name, `folder` its working
    folder.
    """

    what: str
    command: str | Sequence[str]
    folder: Path

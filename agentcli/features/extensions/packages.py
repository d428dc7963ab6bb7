"""Extensions of installed packages: their entry points, found without importing a package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

GROUP = "agentcli.extensions"
"""Group of the entry points."""


def packages() -> Mapping[str, str]:
    """Return the modules of the installed extensions by name."""
    return {point.name: point.module for point in sorted(entry_points(group=GROUP))}

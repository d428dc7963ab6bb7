"""A project as the program opens it, as far as wings need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agentcli.project.approvals import Approvals
    from agentcli.project.plugin_parts import PluginParts
    from agentcli.system.paths import AppDirs


class OpenedProject(Protocol):
    """The folder of a run with its trust and approvals."""

    @property
    def cwd(self) -> Path:
        """The current folder."""
        ...

    @property
    def dirs(self) -> AppDirs:
        """The program's own folders."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """The environment with the stored keys."""
        ...

    @property
    def given_env(self) -> Mapping[str, str]:
        """The environment without the stored keys."""
        ...

    @property
    def trusted(self) -> bool:
        """True if the user trusts the folder."""
        ...

    @property
    def approvals(self) -> Approvals:
        """The user's answers about what the project may start."""
        ...

    @property
    def plugins(self) -> tuple[Sequence[PluginParts], Sequence[str]]:
        """The plugins in force, and notes about unusable ones."""
        ...

"""Opens the project of a run, with the settings of all features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentcli.program.options import Options
from agentcli.program.project import Project

if TYPE_CHECKING:
    from agentcli.config.schema import Schema


def project_of(options: Options, env: Mapping[str, str] | None = None) -> Project:
    """Return the project of a run. Raise UsageError if its folder does not exist, InputError if the current one has been removed."""
    return Project(options, all_settings, env)


def all_settings() -> Schema:
    """Return the settings that there are. The import of all sections costs more than a command needs that reads none."""
    from agentcli.app.sections import SCHEMA

    return SCHEMA

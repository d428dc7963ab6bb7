"""Open the project or the program of a run, with all features and their settings.

Every command imports this module, also to print its help, so it imports the rest when a command runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentcli.program.config.schema import Schema
    from agentcli.program.feature import Feature
    from agentcli.program.front_end import FrontEnd
    from agentcli.program.options import Options
    from agentcli.program.program import Program
    from agentcli.program.project import Project


def project_of(options: Options) -> Project:
    """Return the project of a run. Raise UsageError if its folder does not exist, InputError if the current one has been removed."""
    from agentcli.program.project import Project

    return Project(options, all_settings)


def program_of(
    options: Options,
    env: Mapping[str, str] | None = None,
    front_end: FrontEnd | None = None,
    features: Sequence[Feature[Program]] | None = None,
) -> Program:
    """Return the program of a run, with all features.

    Raise UsageError if its folder does not exist, ConfigError if the configuration is invalid.
    """
    from agentcli.frontends.features import FEATURES
    from agentcli.program.program import Program

    return Program(options, FEATURES if features is None else features, all_settings, env, front_end)


def all_settings() -> Schema:
    """Return all settings. Importing all sections costs more than a command that reads none."""
    from agentcli.frontends.sections import SCHEMA

    return SCHEMA

"""Extras: programs beside the agent; nothing in the agent imports them. This table is the only way to them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

EXTRAS: Mapping[str, str] = {
    "agentcli batch": "batch.command_line:app",
    "agentcli bench": "bench.command_line:app",
    "agentcli context compare": "lab.command_line:compare",
    "agentcli stats what-if": "lab.command_line:what_if",
    "agentcli import-config": "importers.command_line:import_config",
    "agentcli sessions import": "importers.command_line:import_sessions",
    "programs with sessions": "importers.sessions.discover:PROGRAMS",
    "check of other programs": "importers.config.import_run:doctor_rows",
    "differences from other programs": "importers.config.differences:differences",
    "programs with settings": "importers.config:PROGRAMS",
    "programs with a folder": "importers.config:present",
    "plan of an import": "importers.config.import_run:import_plan",
    "lines of an import": "importers.config.import_run:lines",
    "an import in brief": "importers.config.import_run:in_brief",
    "import": "importers.config.import_run:carry_out",
    "rules of claude": "importers.config.claude:restrictions",
    "rules of codex": "importers.config.codex:restrictions",
    "rules of gemini": "importers.config.gemini:restrictions",
    "export atif": "exporters.command_line:trajectory",
    "export to another agent": "exporters.command_line:exported",
}
"""Uses of extras, each with its module and the name in it."""


def extra(use: str) -> Any:
    """Import the part of an extra that has this use."""
    module, _, name = EXTRAS[use].partition(":")
    return getattr(import_module(f"agentcli.extras.{module}"), name)

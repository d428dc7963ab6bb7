"""Annexes: packages beside the agent, which nothing of it imports. This table is the one way to them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

ANNEXES: Mapping[str, str] = {
    "agentcli batch": "batch.command_line:app",
    "agentcli bench": "bench.command_line:app",
    "agentcli context compare": "lab.command_line:compare",
    "agentcli stats what-if": "lab.what_if_command_line:what_if",
    "agentcli import-config": "importers.config_command_line:import_config",
    "agentcli sessions import": "importers.sessions_command_line:import_sessions",
    "programs with sessions": "importers.sessions.discover:PROGRAMS",
    "check of other programs": "importers.config.checks:rows",
    "differences from claude": "importers.config.differences:differences",
    "rules of claude": "importers.config.claude:restrictions",
    "rules of codex": "importers.config.codex:restrictions",
    "rules of gemini": "importers.config.gemini:restrictions",
    "export atif": "atif.command_line:trajectory",
    "export to another agent": "exporters.command_line:exported",
    "policy gemini": "seeds.gemini",
    "policy opencode": "seeds.opencode",
    "policy sliding": "seeds.sliding",
}
"""The uses of annexes, each with its module and the name in it."""


def annex(use: str) -> Any:
    """Import an annex's part for this use."""
    module, _, name = ANNEXES[use].partition(":")
    found = import_module(f"{__package__}.{module}")
    return getattr(found, name) if name else found

"""Costs explained: the causes of a turn's cost, and totals by day, project, model and tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcli.program.command import Command


class Costs(Feature[object]):
    name = "cost"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.costs.commands import COMMANDS

        return COMMANDS

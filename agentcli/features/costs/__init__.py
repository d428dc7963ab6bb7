"""Costs explained: the causes of a turn's cost, and totals by day, project, model and tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.agent.feature import SessionPart
from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.core.event import Event, TurnEnded
    from agentcli.program.command import Command

USUAL_FROM = 4
"""Turns of a session after which a turn's usual cost is known."""


class Costs(Feature[object]):
    name = "cost"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.costs.commands import COMMANDS

        return COMMANDS

    def session(self, program: object, core: SessionCore) -> SessionPart:
        return CostsSession(core)


class CostsSession(SessionPart):
    """Costs of a session's turns so far: one that costs much more than usual gets a line."""

    name = "cost"

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._turns: list[float] = []

    def ended(self, ended: TurnEnded) -> Iterable[Event]:
        self._turns.append(self._core.spending.spent()[1])
        if len(self._turns) <= USUAL_FROM:
            return ()
        from agentcli.features.costs.turns import line_on_cost

        return line_on_cost(self._core, self._turns)

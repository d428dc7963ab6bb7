"""The slash command of costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from agentcli.agent.costs.turns import turn_costs
from agentcli.agent.session import AgentSession
from agentcli.core.errors import UsageError
from agentcli.program.commands import Context, Output, Said, command

LISTED = 3
"""Number of turns listed besides the newest: the costliest ones."""


@command("Cost and state", at_once=True)
async def cost(context: Context, argument: str) -> AsyncIterator[Output]:
    """Show the cost of this session and why: /cost [TURN]

    The parts of a turn add up to its cost: large outputs, replies, summaries, retries, and tokens sent again. For
    these it shows why the cache was missed. Without TURN, show the newest turn, the costliest ones, and the sums per
    model and day. See /help cost.
    """
    if argument and not (argument.isascii() and argument.isdigit()):
        raise UsageError("Which turn? Use /cost or /cost NUMBER.")
    yield Said(await asyncio.to_thread(_lines, context.session, int(argument) if argument else None))


def _lines(session: AgentSession, number: int | None) -> Sequence[str]:
    turns = turn_costs(session.journal.records(), session.core.setup.models.spec)
    if number is not None:
        found = [turn for turn in turns if turn.number == number]
        if not found:
            raise UsageError(f"Turn {number} cost nothing in this session.")
        return found[-1].lines()
    sums = session.report.costs()
    if not turns:
        return sums
    *former, newest = turns
    costliest = sorted((one for one in former if one.cost), key=lambda one: -(one.cost or 0.0))[:LISTED]
    more = ["", "costliest turns before", *(one.line for one in costliest)] if costliest else []
    return [*sums[:1], "", *newest.lines(), *more, *sums[1:]]


COMMANDS = (cost,)

"""The slash commands of costs: `/usage`, and its parts for a turn, all days, and the cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.costs.turns import turn_costs
from agentcli.agent.session import AgentSession
from agentcli.core.errors import UsageError
from agentcli.program.commands import Context, Output, Said, command

if TYPE_CHECKING:
    from agentcli.program.program import Program

LISTED = 3
"""Number of turns listed besides the newest: the costliest ones."""


@command("Cost and state", at_once=True, former="cost")
async def turn(context: Context, argument: str) -> AsyncIterator[Output]:
    """Show the cost of the newest turn and why: /usage turn [TURN]

    The parts of a turn add up to its cost: large outputs, replies, summaries, retries, and tokens sent again. For
    these it shows why the cache was missed. Without TURN, show the newest turn and the costliest ones. See /help cost.
    """
    if argument and not (argument.isascii() and argument.isdigit()):
        raise UsageError("Which turn? Use /usage turn or /usage turn NUMBER.")
    _record_warming(context)
    yield Said(await asyncio.to_thread(_lines, context.session, int(argument) if argument else None))


def _record_warming(context: Context) -> None:
    """Record what was spent on the cache since the last record, so that it is shown."""
    if context.session.warmer is not None:
        context.session.warmer.record()


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
    return [*sums[:1], "", *newest.lines(), *more]


@command("Cost and state", at_once=True, values=("", "session"), tab="session")
async def usage(context: Context, _: str) -> AsyncIterator[Output]:
    """Show tokens and costs of a turn, this session or all days: /usage [turn|session|day|cache]

    Without an argument, show this session per model and day, and what is left of its budget.
    """
    _record_warming(context)
    report = context.session.report
    costs = await asyncio.to_thread(report.costs)
    yield Said([*costs, "", *report.budget()])


@command("Cost and state", at_once=True, former="budget")
async def session(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the remaining budget of this session: /usage"""
    yield Said(context.session.report.budget())


@command("Cost and state", at_once=True, former="stats")
async def day(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the usage of all sessions, per model and per day: /usage day"""
    yield Said(await asyncio.to_thread(_all_sessions, context.program))


@command("Cost and state", at_once=True, former="cache")
async def cache(context: Context, _: str) -> AsyncIterator[Output]:
    """Show cache savings and the causes of cache misses: /usage cache"""
    yield Said(context.session.report.cache())


def _all_sessions(program: Program) -> Sequence[str]:
    from agentcli.features.costs.stats import collect, lines

    return lines(collect(program.store.list(program.project)))


COMMANDS = (turn, usage, session, day, cache)

"""Slash commands that print the program's reports."""

from __future__ import annotations

import asyncio

from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.host import Topic


@command(at_once=True)
async def permissions(context: CommandContext, _: str) -> None:
    """Show the permission rules in force: /permissions"""
    await _report(context, "permissions")


@command(at_once=True)
async def doctor(context: CommandContext, _: str) -> None:
    """Check keys, folders, helpers and sessions: /doctor"""
    await _report(context, "doctor")


@command(at_once=True)
async def stats(context: CommandContext, _: str) -> None:
    """Show the usage of all sessions, per model and per day: /stats"""
    await _report(context, "stats")


@command(at_once=True)
async def budget(context: CommandContext, _: str) -> None:
    """Show the remaining budget of this session: /budget"""
    await _report(context, "budget")


async def _report(context: CommandContext, topic: Topic) -> None:
    # Among thousands of sessions that takes a while: keys go on meanwhile.
    context.say(*await asyncio.to_thread(context.host.report, topic, context.session))

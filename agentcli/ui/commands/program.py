"""Slash commands that ask the program about itself."""

from __future__ import annotations

import asyncio

from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.host import Topic


@command(at_once=True)
async def permissions(stage: CommandContext, _: str) -> None:
    """Show the permission rules in force: /permissions"""
    await _report(stage, "permissions")


@command(at_once=True)
async def doctor(stage: CommandContext, _: str) -> None:
    """Check keys, folders, helpers and sessions: /doctor"""
    await _report(stage, "doctor")


@command(at_once=True)
async def stats(stage: CommandContext, _: str) -> None:
    """Show what all sessions used, per model and per day: /stats"""
    await _report(stage, "stats")


@command(at_once=True)
async def budget(stage: CommandContext, _: str) -> None:
    """Show what this session may still spend: /budget"""
    await _report(stage, "budget")


async def _report(stage: CommandContext, topic: Topic) -> None:
    # Among thousands of sessions that takes a while: keys go on meanwhile.
    stage.say(*await asyncio.to_thread(stage.host.report, topic, stage.desk))

"""Slash commands that ask the program about itself."""

from __future__ import annotations

from agentcli.core.errors import UsageError
from agentcli.ui.commands.offers import Reports, Topic
from agentcli.ui.commands.stage import Stage


async def permissions(stage: Stage, _: str) -> None:
    """Show the permission rules in force: /permissions"""
    _report(stage, "permissions")


async def doctor(stage: Stage, _: str) -> None:
    """Check keys, folders, helpers and sessions: /doctor"""
    _report(stage, "doctor")


async def stats(stage: Stage, _: str) -> None:
    """Show what all sessions used, per model and per day: /stats"""
    _report(stage, "stats")


async def budget(stage: Stage, _: str) -> None:
    """Show what this session may still spend: /budget"""
    _report(stage, "budget")


def _report(stage: Stage, topic: Topic) -> None:
    host = stage.host
    if not isinstance(host, Reports):
        raise UsageError(f"There is no report on {topic} here; try `agentcli {topic}` outside.")
    stage.say(*host.report(topic, stage.desk))

"""Background commands in a session: their news for the model, which may begin a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.agent.feature import SessionFeature
from agentcli.agent.ports import Prompt
from agentcli.agent.tool_context import offer
from agentcli.core.event import Event, Noticed
from agentcli.core.message import reminder
from agentcli.core.sanitise import safe_line
from agentcli.tools.jobs import Jobs


def jobs_of(jobs: Jobs) -> SessionFeature:
    """Return the feature of a session's background commands."""

    async def due(_: asyncio.Event) -> AsyncIterator[Event | str | Prompt]:
        waking = "; ".join(jobs.waking())
        if texts := jobs.news():
            yield Noticed(safe_line(f"Woken by {waking}"))
            yield Prompt("", tuple(map(reminder, texts)), typed=False)

    return SessionFeature(
        "jobs",
        services=[offer(Jobs, jobs)],
        news=jobs.news,
        closed=jobs.abandon,
        is_due=lambda: bool(jobs.waking()),
        due=due,
    )

"""Turns as the front ends with a person play them, and the lines at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from agentcli.core.event import Event, TurnEnded
from agentcli.core.journal import Journal
from agentcli.core.sanitise import safe_line

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.ui.host import Host


async def given_back(turn: AsyncIterator[Event], give_back: Callable[[], None]) -> AsyncIterator[Event]:
    """The events of a turn; `give_back` is called for a prompt that a hook kept from being sent."""
    async with aclosing(turn) as events:  # type: ignore[type-var]
        async for event in events:
            yield event
            if isinstance(event, TurnEnded) and event.ending == "blocked":
                give_back()


def farewell(host: Host, session: AgentSession) -> Sequence[str]:
    """The last lines of a session: the jobs that end with it, what the disk refuses, and the command that resumes it, unless the disk refused all of it.

    None where the session that was wanted is not chosen: the open one was never used.
    """
    return [*ended_jobs(session), *_way_back(host, session.journal)]


def ended_jobs(session: AgentSession) -> Sequence[str]:
    """The jobs that end with a session, a line each."""
    return [f"Ended {job.id}: {safe_line(job.command)}" for job in session.jobs.running()]


def _way_back(host: Host, journal: Journal) -> Sequence[str]:
    if journal.folder is None or host.choosing:
        return ()
    trouble = journal.trouble().partition(". ")[0].rstrip(".")
    resume = f"agentcli resume {journal.id}"
    if not trouble:
        return [resume]
    return [f"! {trouble}.", *([resume] if journal.folder.exists() else [])]

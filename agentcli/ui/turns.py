"""Turns in the front ends with a person, and the lines printed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.core.event import Event, TurnEnded
from agentcli.core.journal import Journal
from agentcli.core.sanitise import safe_line
from agentcli.core.streams import closing
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.ui.host import Host


async def given_back(turn: AsyncIterator[Event], give_back: Callable[[], None]) -> AsyncIterator[Event]:
    """Yield the events of a turn; `give_back` is called if a hook kept its prompt from being sent."""
    async with closing(turn) as events:
        async for event in events:
            yield event
            if isinstance(event, TurnEnded) and event.ending == "blocked":
                give_back()


def farewell(host: Host, session: AgentSession) -> Sequence[str]:
    """Return the last lines of a session: the jobs that end with it, the trouble with the disk, and the command that resumes it, unless nothing was saved.

    Without the command if the person chose no session to resume: the open one was never used.
    """
    return [*ended_jobs(session), *_way_back(host, session.journal)]


def ended_jobs(session: AgentSession) -> Sequence[str]:
    """Return a line for each job that ends with the session."""
    return [f"Ended {job.id}: {safe_line(job.command)}" for job in session.jobs.running()]


def _way_back(host: Host, journal: Journal) -> Sequence[str]:
    if journal.folder is None or host.choosing:
        return ()
    trouble = journal.trouble().partition(". ")[0].rstrip(".")
    resume = f"agentcli resume {journal.id}"
    if not trouble:
        return [resume]
    return [f"! {trouble}.", *([resume] if probe.exists(journal.folder) else [])]

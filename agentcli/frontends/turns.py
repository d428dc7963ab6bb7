"""Turns in the front ends with a person, and the lines printed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.ports import Prompt, RunTurn
from agentcli.core.event import Emit, TurnEnded
from agentcli.core.journal import Journal
from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.input.missing_files import with_warnings
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.program import Program


def typed(session: AgentSession, prompt: Prompt, text: str, give_back: Callable[[], None] | None = None) -> RunTurn:
    """Return the turn of a prompt that a person typed as `text`; `give_back` is called if a hook kept it from being sent."""

    async def turn(interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
        warned = await with_warnings(emit, text, session.cwd, session.servers) if "@" in text else emit
        ended = await session.run(prompt, interrupt, warned)
        if give_back is not None and ended.ending == "blocked":
            give_back()
        return ended

    return turn


def farewell(program: Program, session: AgentSession) -> Sequence[str]:
    """Return the last lines of a session: the jobs that end with it, the trouble with the disk, and the command that resumes it, unless nothing was saved.

    Without the command if the person chose no session to resume: the open one was never used.
    """
    return [*ended_jobs(session), *_way_back(program, session.journal)]


def ended_jobs(session: AgentSession) -> Sequence[str]:
    """Return a line for each job that ends with the session."""
    return [f"Ended {job.id}: {safe_line(job.command)}" for job in session.core.jobs.running()]


def _way_back(program: Program, journal: Journal) -> Sequence[str]:
    if journal.folder is None or program.sessions.choosing:
        return ()
    trouble = journal.trouble().partition(". ")[0].rstrip(".")
    resume = f"agentcli resume {journal.id}"
    if not trouble:
        return [resume]
    return [f"! {trouble}.", *([resume] if probe.exists(journal.folder) else [])]

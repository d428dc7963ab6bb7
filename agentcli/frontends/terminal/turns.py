"""Turns in the front ends with a person.

Warn of mentions that name no file, and print the last lines.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.ports import Prompt, RunTurn
from agentcli.core.event import Emit, Event, Recorded, TurnEnded, Warned, emit_all
from agentcli.core.journal import Journal
from agentcli.core.mcp_servers import ServerState
from agentcli.core.message import Message
from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.input.attachments import candidates, existing, mentions
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.program import Program


def typed(session: AgentSession, prompt: Prompt, text: str, give_back: Callable[[], None] | None = None) -> RunTurn:
    """Return the turn of a prompt that a person typed as `text`; `give_back` is called if a hook blocked it."""

    async def turn(interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
        warned = await with_warnings(emit, text, session.cwd, session.servers) if "@" in text else emit
        ended = await session.run(prompt, interrupt, warned)
        if give_back is not None and ended.ending == "blocked":
            give_back()
        return ended

    return turn


def farewell(program: Program, session: AgentSession, *, moves: bool = False) -> Sequence[str]:
    """Return a session's last lines: the jobs that end with it, disk problems, and the command that resumes it.

    If nothing was saved, there is no such command. The same applies if the person chose no session to resume: the open
    session was never used. If the session `moves` elsewhere, that is told there.
    """
    return [*ended_jobs(session), *(() if moves else _way_back(program, session.journal))]


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


_LIKE_A_FILE = re.compile(r"[^(){}<>=]*(/[^(){}<>=]*|\.[A-Za-z]\w{0,5}(:\d+(-\d+)?)?)[.,;:!?)]*")
"""Mentions with a slash or a file's suffix; not decorators and people."""


async def with_warnings(emit: Emit, text: str, folder: Path, servers: Iterable[ServerState] = ()) -> Emit:
    """Return what emits a turn's events, and, after its prompt, the warnings about it.

    `@server:uri` of one of the `servers` is not a file.
    """
    names = [state.name for state in servers]
    missing = await asyncio.to_thread(missing_files, text, folder, names)
    if not missing:
        return emit

    async def warned(event: Event) -> None:
        await emit(event)
        if missing and isinstance(event, Recorded) and isinstance(event.record.body, Message):
            await emit_all(map(Warned, missing), emit)
            missing.clear()

    return warned


def missing_files(text: str, folder: Path, servers: Collection[str] = ()) -> list[str]:
    """Return a line for each mention that looks like a file but is neither a file nor a server's resource."""
    return [
        f"@{candidates(name)[-1]}: no such file, sent as text"
        for name in mentions(text)
        if _LIKE_A_FILE.fullmatch(name)
        and name.partition(":")[0] not in servers
        and existing(name, folder) is None
        and not any(_exists(folder, each) for each in candidates(name))
    ]


def _exists(folder: Path, name: str) -> bool:
    try:
        return probe.exists(folder / Path(name).expanduser())
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # the name is too long, has a null byte, or its ~user does not exist: not a file
        return False

"""Facts of the status line for the extensions that write a part of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentcli.core.message import Message
from agentcli.extension import Status

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal import render
    from agentcli.frontends.terminal.console import Console

EVERY = 1.0
"""Seconds between two looks at the facts."""


async def refresh_statuses(console: Console) -> None:
    """Let extensions write their parts after a change of the facts, and every few seconds."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        session, shown = console.session, console.screen.state.status
        now = facts(session, shown, loop.time() - began)
        changed = [await part.refresh_status(now) for part in session.parts.all if part.reads_status]
        events = [event for part in session.parts.all if part.reads_status for event in part.notices()]
        if events:
            console.show_events(events)
        elif any(changed):
            console.screen.refresh()
        await asyncio.sleep(EVERY)


def facts(session: AgentSession, shown: render.facts.Status, seconds: float) -> Status:
    """Return the facts of a session. `shown` are those in the status line."""
    history, journal, model = session.history, session.journal, session.core.model
    summary = getattr(getattr(journal, "info", None), "summary", None)
    newest = reversed(history.entries)
    return Status(
        **{name: getattr(shown, name) for name in shown.__slots__ if name not in ("order", "extra", "hard")},
        window=model.window,
        id=journal.id,
        title=history.name or history.title,
        transcript=str(journal.folder or ""),
        seconds=seconds,
        additions=getattr(summary, "additions", 0),
        deletions=getattr(summary, "deletions", 0),
        usage=history.usage,
        last=next((r.body.usage for r in newest if isinstance(r.body, Message) and r.body.usage is not None), None),
    )

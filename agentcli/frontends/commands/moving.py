"""Slash commands that leave this terminal's process: the session continues in the background, or in a worktree."""

from __future__ import annotations

import asyncio
import re
from functools import partial

from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import plural
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.terminal.sharing import Leaving
from agentcli.program.commands import Choice
from agentcli.program.named_worktree import open_worktree

NAME = 40
"""Characters of a worktree's name that is made from a title."""


@terminal_command("Sessions", at_once=True)
async def bg(context: CommandContext, prompt: str) -> None:
    """Continue this session in the background: /bg [PROMPT]

    The running turn continues there, then the waiting messages and PROMPT. `agentcli agents` shows the session and its
    questions. See /help sessions.
    """
    session, working = context.session, context.state.work is not None
    _require_stored(context)
    resumed = session.continues_with()
    texts = [*resumed, *(one.text for one in context.waiting), *([prompt] if prompt else [])]
    if not (working or texts):
        raise UsageError("Nothing runs here. /bg PROMPT sends a prompt along.")
    if await _ends_jobs(context):
        decided = any(part.decides() for part in session.parts.all)  # by a goal, which begins a turn
        again = working and not decided
        context.sharing.leaving = Leaving(session.journal.id, str(context.program.cwd), tuple(texts), again)
        context.leave()


@terminal_command("Work")
async def worktree(context: CommandContext, name: str) -> None:
    """Continue this session in a git worktree of its own: /worktree [NAME]

    The worktree starts at HEAD, on the branch agentcli/NAME. Uncommitted changes can move there. At the end you keep,
    merge or discard it. See /help sessions.
    """
    session, program = context.session, context.program
    _require_stored(context)
    if program.cwd.is_relative_to(program.worktrees):
        raise UsageError(f"This session works in a worktree already: {program.cwd}.")
    known = program.store.find(session.journal.id)
    named = name or _slug(known.name or known.title) or known.id
    opened = partial(open_worktree, program.cwd, named, program.worktrees, program.given_env)
    if not await _ends_jobs(context):
        return
    made = await asyncio.to_thread(opened)
    if made.uncommitted:
        choice = await context.pick(f"Your checkout has uncommitted changes. {made.name} starts at HEAD.", _CHANGES)
        if choice not in (0, 1):
            await asyncio.to_thread(made.discard)
            return
        if choice == 1:
            try:
                await asyncio.to_thread(made.take_along)
            except InputError:
                await asyncio.to_thread(made.discard)
                raise
    texts = tuple(one.text for one in context.waiting)
    context.sharing.leaving = Leaving(session.journal.id, str(made.tree.cwd), texts, worktree=made)
    context.leave()


_CHANGES = (Choice("Keep the changes in this checkout"), Choice("Move the changes into the worktree"))


def _slug(title: str) -> str:
    """Return a title as a name for a worktree."""
    return re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower()[:NAME].strip("-")


def _require_stored(context: CommandContext) -> None:
    """Raise UsageError for a session that no other process can open."""
    if context.session.journal.folder is None or context.program.options.demo or not context.session.history.last_seq:
        raise UsageError("Only a stored session with a message can continue elsewhere.")


async def _ends_jobs(context: CommandContext) -> bool:
    """Ask if background commands of this process may end; return True if there are none."""
    jobs = context.session.core.jobs.running()
    lines = [f"{job.id}: {safe_line(job.command)}" for job in jobs]
    return not jobs or await context.confirm(f"End {plural(len(jobs), 'background command')} and continue?", lines)

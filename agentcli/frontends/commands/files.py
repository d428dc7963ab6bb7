"""Slash commands on files: undo, redo, export, AGENTS.md."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import reminder
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.program.commands import Acted, Context, Output, Sent, command
from agentcli.resources import prompt
from agentcli.system import probe

INIT = "Write an AGENTS.md for this project, or mend the one that is there."
"""Prompt of /init, sent as the user's; the instructions go with it and are not shown."""


@command("Work")
async def undo(context: Context, _: str) -> AsyncIterator[Output]:
    """Undo the newest edits of one reply, or the newest command: /undo

    Includes links, folders and small files that git ignores. Not restored, but reported: files over `checkpoints.file_bytes`
    (ignored ones over `ignored_bytes`), ignored folders over `ignored_files` entries, installed packages (node_modules,
    .venv), what a background command changes later. Never: caches, the repository's own .git, anything outside the workspace.
    """
    yield Acted(context.session.undo_stack.undo())


@command("Work")
async def redo(context: Context, _: str) -> AsyncIterator[Output]:
    """Reverse the newest /undo or /rewind: /redo"""
    yield Acted(context.session.undo_stack.redo())


@terminal_command("Terminal", at_once=True)
async def export(context: CommandContext, name: str) -> None:
    """Export this session to a file: /export [FILE]

    A name that ends in .json gives JSON, one in .html a page, one in .md or without an ending Markdown; without a name it is named after the session.
    """
    from agentcli.sessions.exporting import format_of

    try:
        file = context.session.cwd / Path(name or ".").expanduser()
        if not name or probe.is_dir(file):
            file /= f"{context.session.journal.id}.md"
    except (OSError, RuntimeError) as error:  # the name is too long, or its ~user does not exist
        raise InputError(f"Can't write {name:.60}: no such folder. Try /export FILE.") from error
    form = format_of(file)
    if probe.exists(file) and not await context.confirm(f"{file} exists. Replace it?"):
        return
    text = await asyncio.to_thread(context.host.export, context.session, form)
    try:
        file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no such folder" if missing else error.strerror if isinstance(error, OSError) else error
        raise InputError(f"Can't write {file}: {why}. Try /export FILE.") from error
    context.say(f"Wrote {file}, {len(text):,} characters, secrets redacted.")


@terminal_command("Terminal", at_once=True)
async def view(context: CommandContext, _: str) -> None:
    """Open this session as a page in your browser: /view

    Without a browser, the path of the page is printed. Secrets are redacted.
    """
    context.say(await asyncio.to_thread(context.host.view, context.session))


@command("Context")
async def init(_: Context, wishes: str) -> AsyncIterator[Output]:
    """Generate AGENTS.md: /init [WISHES]"""
    yield Sent(f"{INIT}\n\n{wishes}".strip(), (reminder(prompt("init.md")),))

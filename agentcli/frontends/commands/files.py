"""Slash commands on files: undo, redo, export, AGENTS.md."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import reminder
from agentcli.core.text.secrets import known_secrets
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.session_page import view as open_page
from agentcli.program.commands import Acted, Context, Output, Sent, command
from agentcli.resources import prompt
from agentcli.sessions import exporting
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
    try:
        file = context.session.cwd / Path(name or ".").expanduser()
        if not name or probe.is_dir(file):
            file /= f"{context.session.journal.id}.md"
    except (OSError, RuntimeError) as error:  # the name is too long, or its ~user does not exist
        raise InputError(f"Can't write {name:.60}: no such folder. Try /export FILE.") from error
    form = exporting.format_of(file)
    if probe.exists(file) and not await context.confirm(f"{file} exists. Replace it?"):
        return
    journal, secrets = context.session.journal, known_secrets(context.program.env)
    text = await asyncio.to_thread(lambda: exporting.export(exporting.collect(journal), form, secrets=secrets))
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
    program, journal = context.program, context.session.journal
    context.say(await asyncio.to_thread(open_page, journal, program.dirs.cache, program.env))


@command("Context")
async def init(_: Context, wishes: str) -> AsyncIterator[Output]:
    """Generate AGENTS.md: /init [WISHES]"""
    yield Sent(f"{INIT}\n\n{wishes}".strip(), (reminder(prompt("init.md")),))

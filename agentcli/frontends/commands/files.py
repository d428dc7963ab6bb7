"""Slash commands on files and texts to take away: undo, redo, export, view, copy."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path

from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.secrets import known_secrets
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.commands.session_page import view as open_page
from agentcli.frontends.terminal.render.past_messages import newest_answers
from agentcli.program.commands import Acted, Context, Output, command
from agentcli.sessions import exporting
from agentcli.system import probe
from agentcli.system.paths import replace_file


@command("Work")
async def undo(context: Context, _: str) -> AsyncIterator[Output]:
    """Undo the newest edits of one reply, or the newest command: /undo

    Includes links, folders and small files that git ignores.

    Large content is reported instead of restored: files over `checkpoints.file_bytes` (ignored ones over
    `ignored_bytes`), and ignored folders over `ignored_files` entries. Installed packages (node_modules, .venv) and
    later changes by a background command are also only reported.

    Caches, the repository's own .git and anything outside the workspace are never restored.
    """
    yield Acted(context.session.undo_stack.undo())


@command("Work")
async def redo(context: Context, _: str) -> AsyncIterator[Output]:
    """Reverse the newest /undo or /rewind: /redo"""
    yield Acted(context.session.undo_stack.redo())


@terminal_command("Terminal", at_once=True)
async def export(context: CommandContext, name: str) -> None:
    """Export this session to a file: /export [FILE]

    A name that ends in .json gives JSON, and one in .html a page. A name that ends in .md, or has no ending, gives
    Markdown. Without a name, the file is named after the session.
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


@terminal_command("Terminal", at_once=True, former="view")
async def view(context: CommandContext, _: str) -> None:
    """Open this session as a page in your browser: /export page

    Without a browser, the path of the page is printed. Secrets are redacted.
    """
    program, journal = context.program, context.session.journal
    context.say(await asyncio.to_thread(open_page, journal, program.dirs.cache, program.env))


CLIPBOARD = 74_000
"""Maximum bytes of text sent to the terminal: as base64 that is 100,000 characters, which terminals accept."""
_ARGUMENT = re.compile(r"(?P<answer>[1-9][0-9]{0,3})?(?:(?:^|\s+)(?P<code>code)(?:\s+(?P<block>[1-9][0-9]{0,3}))?)?")


@terminal_command("Terminal", at_once=True)
async def copy(context: CommandContext, argument: str) -> None:
    """Copy an answer, or its code: /copy [N] [code [M]]"""
    chosen = _ARGUMENT.fullmatch(argument.strip().lower())
    if chosen is None:
        raise UsageError("Use /copy, /copy 2 for the answer before the newest, /copy code, or /copy code 2.")
    place = int(chosen["answer"] or 1)
    found = await asyncio.to_thread(lambda: list(islice(newest_answers(context.session.journal), place)))
    if len(found) < place:
        raise UsageError(f"Only {len(found)} answers to copy." if found else "No answer to copy yet.")
    text = _block(found[-1], chosen["block"]) if chosen["code"] else found[-1]
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= CLIPBOARD:
        context.copy(text)
    file = _kept(text, context.program.dirs.cache / "copied.txt")
    kept = f"in {file}" if file else "nowhere else: the cache folder can't be written"
    if size <= CLIPBOARD:
        context.say(f"Copied {len(text):,} characters" + (f", also {kept}." if file else "."))
    else:
        context.say(f"Too large for the clipboard of most terminals: the {len(text):,} characters are {kept}.")


def _kept(text: str, file: Path) -> str:
    """Write a copied text to a file, and return its path; empty if it is not writable."""
    try:
        replace_file(file, text, mode=0o600)
    except (OSError, UnicodeEncodeError):
        return ""
    return str(file)


def _block(answer: str, number: str | None) -> str:
    """Return a fenced code block of an answer, the last one without a number. Raises UsageError if there is none."""
    from markdown_it import MarkdownIt

    blocks = [token.content for token in MarkdownIt().parse(answer) if token.type in ("fence", "code_block")]
    if not blocks:
        raise UsageError("The answer has no code block.")
    if number and int(number) > len(blocks):
        raise UsageError(f"The answer has only {len(blocks)} code blocks.")
    return blocks[int(number) - 1 if number else -1]

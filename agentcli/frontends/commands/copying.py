"""`/copy`: an answer of the model, or a code block of it, to the clipboard and to a file."""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from pathlib import Path

from agentcli.core.errors import UsageError
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.terminal.render.past_messages import newest_answers
from agentcli.system.paths import replace_file

CLIPBOARD = 74_000
"""Largest text in bytes that is sent to the terminal: as base64 it has the 100,000 characters that terminals accept."""
_ARGUMENT = re.compile(r"(?P<answer>[1-9][0-9]{0,3})?(?:(?:^|\s+)(?P<code>code)(?:\s+(?P<block>[1-9][0-9]{0,3}))?)?")


@terminal_command("Terminal", at_once=True)
async def copy(context: CommandContext, argument: str) -> None:
    """Copy an answer, or its code: /copy [N] [code [M]]"""
    chosen = _ARGUMENT.fullmatch(argument.strip().lower())
    if chosen is None:
        raise UsageError("Say /copy, /copy 2 for the answer before the newest, /copy code, or /copy code 2.")
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
    """Write a copied text to a file, and return its path; empty if it can't be written."""
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

"""Slash commands on changes: diff, review, findings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError, UsageError
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.message import Message, reminder
from agentcli.core.sanitise import safe
from agentcli.core.text.words import plural
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.run.findings import CHANGES, Finding, is_review
from agentcli.frontends.run.findings import findings as findings_in
from agentcli.frontends.terminal.render import diff, findings
from agentcli.program.commands import Choice, Context, Item, Output, Said, Sent, command
from agentcli.resources import prompt
from agentcli.system.git_changes import Changes, changes, choices

PRINTED = 2_000
"""Lines of git's changes that are printed at most."""
SENT = 60_000
"""Characters of changes sent to the model with a review; it reads the rest itself."""
TREE = "git"
"""Argument of /diff for the changes of the working tree."""


def revisions(context: Context) -> Sequence[Item]:
    """Return the branches and commits as completions."""
    return [Item(name, about) for name, about in choices(context.session.cwd)]


@command(
    "Work",
    at_once=True,
    arguments=lambda context: [Item(TREE, "the working tree"), *revisions(context)],
)
async def diff_(context: Context, what: str) -> AsyncIterator[Output]:
    """Show changes: this session, git, a branch or a commit: /diff [git|BRANCH|COMMIT]

    Without an argument, show the edits of this session that are in force. With `git`, show everything not committed,
    including new files. With a branch, show what changed since it was left. With a commit, or a range A..B, show what
    that changed.
    """
    if not what:
        text = context.session.report.diff()
        if not text.strip():
            yield Said(["No file has been changed in this session. /diff git shows uncommitted changes."])
            return
        yield _diff(text)
        return
    found = await asyncio.to_thread(changes, context.session.cwd, "" if what == TREE else what)
    if not found.diff.strip():
        yield Said([f"No changes in {found.title}."])
        return
    lines = found.diff.split("\n")
    yield Said([f"Changes in {found.title}:"])
    yield _diff("\n".join(lines[:PRINTED]))
    if len(lines) > PRINTED:
        yield Said([f"… {len(lines) - PRINTED:,} more lines; `git diff` shows all."])


@command("Work", arguments=revisions)
async def review(context: Context, what: str) -> AsyncIterator[Output]:
    """Review changes: /review [BRANCH|COMMIT] [WISHES]

    Without a branch or commit, choose from a list: uncommitted changes, this branch against another, or a commit. Findings are listed by
    severity, each with its file and line; /review findings opens one. Nothing is changed.
    """
    found, wishes = await _to_review(context, what)
    if found is None:
        return
    found = replace(found, diff=context.session.readable_changes(found.diff))
    if not found.diff.strip():
        raise UsageError(f"Nothing to review: there are no changes in {found.title}.")
    yield _asked(found, wishes)


@terminal_command("Work", at_once=True, former="findings")
async def findings_(context: CommandContext, number: str) -> None:
    """List the findings of the newest review, or open one: /review findings [NUMBER]

    Without a number, choose from the list. The file is opened at its line in $VISUAL or $EDITOR.
    """
    found = await asyncio.to_thread(newest_findings, context.session.journal)
    if not found:
        raise UsageError("No findings. /review looks for some.")
    if number:
        chosen = int(number) - 1 if number.isdecimal() else -1
        if not 0 <= chosen < len(found):
            raise UsageError(f"No finding {number}: the review has {len(found)}.")
    else:
        listed = [Choice(findings.place(one), " · ".join(filter(None, (one.severity, one.text)))) for one in found]
        picked = await context.pick(f"Open which of {findings.summary(found)}?", listed)
        if picked is None:
            return
        chosen = picked
    file = context.session.cwd / found[chosen].path
    if not await asyncio.to_thread(file.is_file):
        raise UsageError(f"No file {found[chosen].path}.")
    await context.open_file(file, found[chosen].line)


def newest_findings(journal: Journal) -> Sequence[Finding]:
    """Return the findings of the newest review with places in its answer."""
    answer = ""
    for record in reversed(in_force(list(journal.records()))):
        body = record.body
        if isinstance(body, Message) and body.role == "assistant" and not body.calls:
            answer = answer or body.text
        elif isinstance(body, Message) and is_review(body) and (found := findings_in(answer)):
            return found
        elif isinstance(body, Message) and body.typed:
            answer = ""
    return ()


def _diff(text: str) -> Said:
    return Drawn(text.rstrip("\n").split("\n"), draw=lambda columns, look: diff.lines(text, columns, look.theme))


def _asked(found: Changes, wishes: str) -> Sent:
    text = safe(found.diff) if len(found.diff) <= SENT else _shortened(found.diff)
    along = reminder(f"{prompt('review.md')}\n\n{CHANGES}\n{text}\n</changes>")
    return Sent(f"Review {found.title}. {wishes}".strip(), (along,))


async def _named(folder: Path, what: str) -> tuple[Changes, str]:
    """Return the changes that the first word specifies, and the wishes after it.

    If the first word specifies none, return the working tree's changes, and all words as wishes.
    """
    first, _, rest = what.partition(" ")
    try:
        return await asyncio.to_thread(changes, folder, first), rest.strip()
    except InputError:
        # A single word is a mistyped name; several words are instructions.
        if not rest:
            raise
        return await asyncio.to_thread(changes, folder), what


async def _to_review(context: Context, what: str) -> tuple[Changes | None, str]:
    """Return the changes to review and the wishes about them; None for the changes if the choice was cancelled."""
    if what:
        return await _named(context.session.cwd, what)
    tree = await asyncio.to_thread(changes, context.session.cwd)
    if context.terminal is None:
        return tree, ""
    offered = await asyncio.to_thread(choices, context.session.cwd)
    files = tree.diff.count("\n+++ ") + tree.diff.count("\nBinary files ")
    listed = [Choice("Uncommitted changes", plural(files, "file") if files else "nothing")]
    listed += [Choice(f"This branch since {name}" if what == "branch" else name, what) for name, what in offered]
    chosen = await context.terminal.pick("Review which changes?", listed)
    if chosen is None:
        return None, ""
    if not chosen:
        return tree, ""
    return await asyncio.to_thread(changes, context.session.cwd, offered[chosen - 1][0]), ""


def _shortened(text: str) -> str:
    """Return the beginning of long changes and the names of all changed files."""
    files = [line.removeprefix("+++ b/") for line in text.split("\n") if line.startswith("+++ b/")]
    more = f"[{len(text) - SENT:,} more characters: read them with git. All changed files:]"
    return safe("\n".join([text[:SENT], more, *files]))

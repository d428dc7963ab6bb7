"""Slash commands on changes: diff, review."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentcli.core.errors import InputError, UsageError
from agentcli.core.message import Text
from agentcli.core.sanitise import safe
from agentcli.integrations.git_changes import Changes, changes, choices
from agentcli.resources import prompt
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.render import diff
from agentcli.ui.render.frame import Item

PRINTED = 2_000
"""Lines of git's changes that are printed at most."""
SENT = 60_000
"""Characters of changes that go to the model with a review; it reads the rest itself."""
TREE = "git"
"""Argument of /diff for the changes of the working tree."""


def revisions(context: CommandContext) -> Sequence[Item]:
    """Branches and commits as completions."""
    return [Item(name, about) for name, about in choices(context.session.cwd)]


@command(at_once=True, arguments=lambda context: [Item(TREE, "the working tree"), *revisions(context)])
async def diff_(context: CommandContext, what: str) -> None:
    """Show changes of this session, the working tree, a branch or a commit: /diff [git|BRANCH|COMMIT]

    Without an argument, the edits of this session; with `git`, everything not committed, including new files; with a branch, what
    changed since it was left; with a commit, or a range A..B, what that changed.
    """
    if not what:
        text = context.session.report.diff()
        if not text.strip():
            context.say("No file has been changed in this session. /diff git shows uncommitted changes.")
            return
        context.show(*diff.lines(text, context.columns, context.look.theme))
        return
    found = await asyncio.to_thread(changes, context.session.cwd, "" if what == TREE else what)
    if not found.diff.strip():
        context.say(f"No changes in {found.title}.")
        return
    lines = found.diff.split("\n")
    context.say(f"Changes in {found.title}:")
    context.show(*diff.lines("\n".join(lines[:PRINTED]), context.columns, context.look.theme))
    if len(lines) > PRINTED:
        context.say(f"… {len(lines) - PRINTED:,} more lines; `git diff` shows all.")


@command(arguments=revisions)
async def review(context: CommandContext, what: str) -> None:
    """Review changes: /review [BRANCH|COMMIT] [WISHES]

    Without a branch or commit, choose from a list: uncommitted changes, this branch against another, or a commit. Findings are listed by
    severity, each with its file and line. Nothing is changed.
    """
    found, wishes = await _to_review(context, what)
    if found is None:
        return
    if not found.diff.strip():
        raise UsageError(f"Nothing to review: there are no changes in {found.title}.")
    text = safe(found.diff) if len(found.diff) <= SENT else _shortened(found.diff)
    along = Text(f"{prompt('review.md')}\n\n<changes>\n{text}\n</changes>", synthetic=True, source="reminder")
    context.send(f"Review {found.title}. {wishes}".strip(), along)


async def _to_review(context: CommandContext, what: str) -> tuple[Changes | None, str]:
    """The changes that are meant, and what else was said; no changes if the choice was cancelled."""
    first, _, rest = what.partition(" ")
    if first:
        try:
            return await asyncio.to_thread(changes, context.session.cwd, first), rest.strip()
        except InputError:
            # One word is a name that was mistyped; several are wishes.
            if not rest:
                raise
            return await asyncio.to_thread(changes, context.session.cwd), what
    tree = await asyncio.to_thread(changes, context.session.cwd)
    offered = await asyncio.to_thread(choices, context.session.cwd)
    files = tree.diff.count("\n+++ ") + tree.diff.count("\nBinary files ")
    listed = [Choice("What is not committed", f"{files} file{'s' * (files != 1)}" if files else "nothing")]
    listed += [Choice(f"This branch since {name}" if what == "branch" else name, what) for name, what in offered]
    chosen = await context.pick("Review which changes?", listed)
    if chosen is None:
        return None, ""
    if not chosen:
        return tree, ""
    return await asyncio.to_thread(changes, context.session.cwd, offered[chosen - 1][0]), ""


def _shortened(text: str) -> str:
    """The beginning of long changes, and the files of all of them."""
    files = [line.removeprefix("+++ b/") for line in text.split("\n") if line.startswith("+++ b/")]
    more = f"[{len(text) - SENT:,} more characters: read them with git. All changed files:]"
    return safe("\n".join([text[:SENT], more, *files]))

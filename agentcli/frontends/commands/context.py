"""Slash commands on the context window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Event, Recorded
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Pin
from agentcli.core.text.words import labelled, plural
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.terminal.dialogs.dialogs import Filter
from agentcli.frontends.terminal.render import past_messages
from agentcli.frontends.terminal.render.past_messages import RewindPoint
from agentcli.frontends.terminal.render.status_line import short_model
from agentcli.frontends.terminal.render.window_chart import chart, listing
from agentcli.program.commands import Acted, Choice, Context, Item, Output, Said, Work, command
from agentcli.sessions.info import ago
from agentcli.sessions.search import passages_after

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.core.journal import Journal

LONGEST = 10
"""Characters of the number of a message."""


def prompt_numbers(ctx: Context) -> Sequence[Item]:
    """Return the numbers of the prompts as completions, newest first."""
    return [Item(str(seq), _line(words)) for seq, words in reversed(past_messages.prompts(ctx.session.journal))]


def pinned_numbers(ctx: Context) -> Sequence[Item]:
    """Return the numbers of pinned messages as completions, newest first."""
    return [Item(str(seq), _beginning(ctx.session, seq)) for seq in sorted(ctx.session.history.pins, reverse=True)]


@command(
    "Context",
    arguments=lambda ctx: [Item("--preview", "show the plan, change nothing")],
    aliases=("compact",),
)
async def compress(ctx: Context, focus: str) -> AsyncIterator[Output]:
    """Replace the older part of the conversation with a summary: /compress [--preview] [FOCUS]

    FOCUS names what the summary must keep in detail. With --preview nothing changes, and no model is called.
    """
    if focus.startswith("--") and focus.split()[0] != "--preview":
        raise UsageError(f"Unknown option {focus.split()[0]}. Use /compress [--preview] [FOCUS].")
    if focus.split()[:1] in (["--preview"], ["preview"]):
        yield Said(ctx.session.compactor.preview())
        return
    yield Work("Compressing", partial(ctx.session.compactor.compact, trigger="manual", focus=focus))


@command("Context")
async def uncompress(ctx: Context, _: str) -> AsyncIterator[Output]:
    """Undo the newest compaction: /uncompress"""
    yield Acted(ctx.session.compactor.undo(), "Compaction undone")


@command(
    "Context",
    arguments=lambda ctx: [Item("undo", "take back the newest prune")],
    values=("", "undo"),
    former="prune",
)
async def prune(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Clear old tool outputs from the context: /context prune [undo]

    They stay on disk, and the model can `recall` them. `undo` reverts the newest prune.
    """
    compactor = ctx.session.compactor
    yield Acted(compactor.undo_prune(), "Prune undone") if argument else Acted(compactor.prune())


@command(
    "Context",
    at_once=True,
    arguments=lambda ctx: [Item("all", "list every message")],
    values=("", "all"),
)
async def context(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Show the contents of the context window: /context [all]

    With `all` every message is listed, otherwise the largest ones.
    """
    report, name, every = ctx.session.report.context(), ctx.session.core.model.name, bool(argument)
    yield Drawn(
        listing(report, name, every),
        draw=lambda columns, look: chart(report, short_model(name), columns - 1, look.theme, every=every),
    )
    ahead = ctx.session.report.outlook()
    yield Said(["", *ahead, *([""] if ahead else []), *ctx.session.report.counting()])


@command("Context", arguments=prompt_numbers)
async def pin(ctx: Context, number: str) -> AsyncIterator[Output]:
    """Keep a message out of every summary: /pin [NUMBER]

    Without a number, your newest prompt; /context all lists the numbers.
    """
    seq = _seq(number)
    if seq is None and not ctx.session.history.turn:
        raise UsageError("No message to pin yet.")
    yield Acted(events := ctx.session.pin(seq))
    yield Said([f"#{one} is pinned: {_beginning(ctx.session, one)}" for one in _pinned(events)])


@command("Context", arguments=pinned_numbers, former="unpin")
async def unpin(ctx: Context, number: str) -> AsyncIterator[Output]:
    """Unpin a message: /pin remove [NUMBER]

    Without a number, the newest pinned message.
    """
    pins = ctx.session.history.pins
    if not pins:
        raise UsageError("Nothing is pinned. /pin keeps a message out of every summary.")
    seq = _seq(number) or max(pins)
    if seq not in pins:
        raise UsageError(f"#{seq} is not pinned. Pinned are {', '.join(f'#{one}' for one in sorted(pins))}.")
    yield Acted(ctx.session.pin(seq, unpin=True))
    yield Said([f"#{seq} is no longer pinned: {_beginning(ctx.session, seq)}"])


@terminal_command("Work", arguments=prompt_numbers)
async def rewind(ctx: CommandContext, number: str) -> None:
    """Go back to just before one of your prompts: /rewind [NUMBER or WORDS]

    Without a number, choose a prompt from a list, which you can also search for what came after it. If files have changed
    since, choose what to restore: the conversation, the files, or both. The prompt returns to the input with the
    conversation.
    """
    prompts = await asyncio.to_thread(past_messages.rewind_points, ctx.session.journal)
    if not prompts:
        raise UsageError("No prompt to rewind to.")
    seq = _seq(number) if number.lstrip("#").isdecimal() else None
    if seq is None:
        newest_first = prompts[::-1]
        choices = [Choice(_line(one.words), _since(one)) for one in newest_first]
        by = Filter(number, partial(_contents, ctx.session.journal, [one.seq for one in newest_first]))
        chosen = await ctx.choose("Rewind to which prompt?", choices, 0, {}, by)
        if chosen is None:
            return
        seq = newest_first[chosen[0]].seq
    words = {one.seq: one.words for one in prompts}.get(seq)
    if words is None:
        raise UsageError(f"#{seq} is not one of your prompts. /rewind without a number lists them.")
    changed = await asyncio.to_thread(ctx.session.undo_stack.changed_since, seq)
    what = await _what_goes_back(ctx) if changed else "conversation"
    if what in ("files", "both"):
        try:
            ctx.show_events(ctx.session.undo_stack.rewind_files(seq))
        except InputError as nothing:
            if what == "files":
                raise
            ctx.say(str(nothing))
    if what in ("conversation", "both"):
        ctx.show_events(ctx.session.undo_stack.rewind(seq))
        ctx.say(f"Rewound to before #{seq}. /redo undoes this.")
        ctx.draft(words)


def _contents(journal: Journal, starts: Sequence[int], words: str) -> Mapping[int, str]:
    """Return a passage for each prompt after which all the words occur, by its place in `starts`."""
    found = passages_after(journal.records(), starts, words)
    return {starts.index(seq): text for seq, text in found.items() if seq in starts}


def _since(point: RewindPoint) -> str:
    """Return a prompt's number and age, and the files changed between it and the next one."""
    names = [
        PurePath(path).name + (f" +{added} −{deleted}" if added or deleted else "")
        for path, (added, deleted) in point.changes.items()
    ]
    files = ", ".join(names) if len(names) <= NAMED else plural(len(names), "file")
    return " · ".join(filter(None, (f"#{point.seq}", ago(point.time), files)))


NAMED = 2
"""Maximum files changed after a prompt to list; beyond it, only their number."""


async def _what_goes_back(ctx: CommandContext) -> str:
    """Return `conversation`, `files`, `both`, or an empty text for nothing."""
    what = ("conversation", "files", "both")
    chosen = await ctx.pick("Restore what?", [Choice(f"The {each}" if each != "both" else "Both") for each in what])
    return "" if chosen is None else what[chosen]


def _pinned(events: Sequence[Event]) -> list[int]:
    bodies = (event.record.body for event in events if isinstance(event, Recorded))
    return [body.seq for body in bodies if isinstance(body, Pin)]


def _beginning(session: AgentSession, seq: int) -> str:
    """Return the first line of a message's text."""
    record = session.journal.record(seq)
    match record.body if record else None:
        case Message() as message:
            return _line(message.text)
        case ToolResult(name=name, title=title):
            return _line(title or name)
        case _:
            return ""


def _line(words: str) -> str:
    return " ".join(labelled(words).split())[:200]


def _seq(number: str) -> int | None:
    if not number:
        return None
    if not number.lstrip("#").isdecimal() or len(number) > LONGEST:
        raise UsageError(f"{number} is not the number of a message; /context all lists them.")
    return int(number.lstrip("#"))

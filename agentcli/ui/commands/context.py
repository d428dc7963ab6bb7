"""Slash commands on the context window."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Event, Recorded
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Pin
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.render import past_messages
from agentcli.ui.render.frame import Item
from agentcli.ui.render.status_line import short_model
from agentcli.ui.render.window_chart import chart

LONGEST = 10
"""Characters of the number of a message."""


def prompt_numbers(ctx: CommandContext) -> Sequence[Item]:
    """Numbers of the prompts as completions, newest first."""
    return [Item(str(seq), _line(words)) for seq, words in reversed(past_messages.prompts(ctx.session.journal))]


def pinned_numbers(ctx: CommandContext) -> Sequence[Item]:
    """Numbers of pinned messages as completions, newest first."""
    return [Item(str(seq), _beginning(ctx, seq)) for seq in sorted(ctx.session.history.pins, reverse=True)]


@command(arguments=lambda ctx: [Item("--preview", "show the plan, change nothing")], aliases=("compact",))
async def compress(ctx: CommandContext, focus: str) -> None:
    """Replace the older part of the conversation with a summary: /compress [--preview] [FOCUS]

    FOCUS says what the summary must keep in detail. With --preview nothing changes, and no model is called.
    """
    if focus.startswith("--") and focus.split()[0] != "--preview":
        raise UsageError(f"There is no option {focus.split()[0]}. Use /compress [--preview] [FOCUS].")
    if focus.split()[:1] in (["--preview"], ["preview"]):
        ctx.say(*ctx.session.compactor.preview())
        return
    await ctx.play("Compressing", lambda interrupt: ctx.session.compactor.compact(interrupt, "manual", focus=focus))


@command()
async def uncompress(ctx: CommandContext, _: str) -> None:
    """Undo the newest compaction: /uncompress"""
    ctx.show_events(ctx.session.compactor.undo())
    ctx.say(f"Compaction undone: {ctx.session.report.window().used:,} tokens in context.")


@command(arguments=lambda ctx: [Item("undo", "take back the newest prune")])
async def prune(ctx: CommandContext, argument: str) -> None:
    """Clear old tool outputs from the context: /prune [undo]

    They stay on disk, and the model can `recall` them. `undo` reverts the newest prune.
    """
    if argument not in ("", "undo"):
        raise UsageError("Use /prune, or /prune undo.")
    compactor = ctx.session.compactor
    ctx.show_events(compactor.undo_prune() if argument else compactor.prune())
    if argument:
        ctx.say(f"Prune undone: {ctx.session.report.window().used:,} tokens in context.")


@command(at_once=True, arguments=lambda ctx: [Item("all", "list every message")])
async def context(ctx: CommandContext, argument: str) -> None:
    """Show the contents of the context window: /context [all]

    With `all` every message is listed, otherwise the largest ones.
    """
    if argument not in ("", "all"):
        raise UsageError("Use /context, or /context all.")
    report, model = ctx.session.report, short_model(ctx.session.model.name)
    ctx.show(*chart(report.context(), model, ctx.columns - 1, ctx.look.theme, every=bool(argument)))
    ctx.say("", *report.counting())


@command(arguments=prompt_numbers)
async def pin(ctx: CommandContext, number: str) -> None:
    """Keep a message out of every summary: /pin [NUMBER]

    Without a number, your newest prompt; /context all lists the numbers.
    """
    seq = _seq(number)
    if seq is None and not ctx.session.history.turn:
        raise UsageError("There is no message to pin yet.")
    ctx.show_events(events := ctx.session.pin(seq))
    ctx.say(*(f"#{one} is pinned: {_beginning(ctx, one)}" for one in _pinned(events)))


@command(arguments=pinned_numbers)
async def unpin(ctx: CommandContext, number: str) -> None:
    """Unpin a message: /unpin [NUMBER]

    Without a number, the newest pinned message.
    """
    pins = ctx.session.history.pins
    if not pins:
        raise UsageError("Nothing is pinned. /pin keeps a message out of every summary.")
    seq = _seq(number) or max(pins)
    if seq not in pins:
        raise UsageError(f"#{seq} is not pinned. Pinned are {', '.join(f'#{one}' for one in sorted(pins))}.")
    ctx.show_events(ctx.session.pin(seq, unpin=True))
    ctx.say(f"#{seq} is no longer pinned: {_beginning(ctx, seq)}")


@command(arguments=prompt_numbers)
async def rewind(ctx: CommandContext, number: str) -> None:
    """Go back to just before one of your prompts: /rewind [NUMBER]

    Without a number, choose from a list, then what to restore: the conversation, the files, or both. The prompt returns
    to the input with the conversation.
    """
    prompts = await asyncio.to_thread(past_messages.prompts, ctx.session.journal)
    if not prompts:
        raise UsageError("There is no prompt to rewind to.")
    seq = _seq(number)
    if seq is None:
        newest_first = prompts[::-1]
        choices = [Choice(_line(words), f"#{place}") for place, words in newest_first]
        chosen = await ctx.pick("Rewind to which prompt?", choices)
        if chosen is None:
            return
        seq = newest_first[chosen][0]
    words = dict(prompts).get(seq)
    if words is None:
        raise UsageError(f"#{seq} is not one of your prompts. /rewind without a number lists them.")
    what = await _what_goes_back(ctx)
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


async def _what_goes_back(ctx: CommandContext) -> str:
    """`conversation`, `files`, `both`, or an empty text for nothing."""
    what = ("conversation", "files", "both")
    chosen = await ctx.pick("Restore what?", [Choice(f"The {each}" if each != "both" else "Both") for each in what])
    return "" if chosen is None else what[chosen]


def _pinned(events: Sequence[Event]) -> list[int]:
    bodies = (event.record.body for event in events if isinstance(event, Recorded))
    return [body.seq for body in bodies if isinstance(body, Pin)]


def _beginning(ctx: CommandContext, seq: int) -> str:
    """First line of a message's text."""
    record = ctx.session.journal.record(seq)
    match record.body if record else None:
        case Message() as message:
            return _line(message.text)
        case ToolResult(name=name, title=title):
            return _line(title or name)
        case _:
            return ""


def _line(words: str) -> str:
    return " ".join(words.split())[:200]


def _seq(number: str) -> int | None:
    if not number:
        return None
    if not number.lstrip("#").isdecimal() or len(number) > LONGEST:
        raise UsageError(f"{number} is not the number of a message; /context all lists them.")
    return int(number.lstrip("#"))

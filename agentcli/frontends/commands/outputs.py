"""Outputs of slash commands: shown at a terminal, or converted to a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.ports import Prompt
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import CompactionEnded, Emit, Event, Noticed, Pruned, TurnEnded
from agentcli.core.message import Text
from agentcli.core.sanitise import safe
from agentcli.core.streams import closing
from agentcli.frontends.commands.base import CommandContext, TerminalCommand
from agentcli.frontends.terminal.render.markdown import document
from agentcli.program.command import Command
from agentcli.program.commands import Acted, Framed, Output, OutputCommand, Said, Sent, Work
from agentcli.system.cells import hanging

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.style import Look


@dataclass(frozen=True, slots=True)
class Drawn(Said):
    """Lines that a terminal draws itself: `draw` returns them as styled, safe lines for that many columns."""

    draw: Callable[[int, Look], Sequence[str]] = lambda columns, look: ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Complete output of a command."""

    lines: tuple[str, ...] = ()
    """Its lines."""
    notices: tuple[str, ...] = ()
    """Messages of its actions."""
    window: str = ""
    """The resulting window."""
    why: str = ""
    """The reason for a failure."""
    markdown: bool = False
    """Whether the lines are Markdown."""


async def perform(command: Command, terminal: CommandContext, argument: str) -> None:
    """Run a command at a terminal."""
    if isinstance(command, TerminalCommand):
        await command.run(terminal, argument)
    elif isinstance(command, OutputCommand):
        await show(command.yields(terminal.everywhere, argument), terminal)


async def show(outputs: AsyncIterator[Output], terminal: CommandContext) -> None:
    """Show the outputs of a command at a terminal."""
    async with closing(outputs) as stream:
        async for output in stream:
            match output:
                case Drawn(draw=draw):
                    terminal.show(*draw(terminal.columns, terminal.look))
                case Framed():
                    terminal.show(*framed(output, terminal.columns, terminal.look))
                case Said(lines, markdown=True):
                    terminal.show(*document(safe("\n".join(lines)), terminal.columns - 1, terminal.look))
                case Said(lines):
                    terminal.say(*lines)
                case Acted(events, done):
                    terminal.show_events(events)
                    if done:
                        terminal.say(f"{done}: {terminal.session.report.window().used:,} tokens in context.")
                case Work(doing, run):
                    await terminal.play(doing, run)
                case Sent(text, along):
                    terminal.send(text, *along)


def rows_of(output: Said, columns: int, look: Look) -> Sequence[str]:
    """Return the styled rows of a report for a screen of that many columns."""
    match output:
        case Drawn(draw=draw):
            return draw(columns, look)
        case Framed():
            return framed(output, columns, look)
        case Said(lines, markdown=True):
            return document(safe("\n".join(lines)), columns - 1, look)
        case Said(lines):
            return [row for line in lines for row in hanging(safe(line).expandtabs(4), columns - 1)]


def framed(output: Framed, columns: int, look: Look) -> Sequence[str]:
    """Return the lines of text in a frame."""
    paint, wide = look.theme.paint, max(1, columns - 3)
    plain = [row for line in safe(output.body).split("\n") for row in hanging(line.expandtabs(4), wide)]
    body = (document(safe(output.body), wide, look) if output.markdown else plain) if output.body else []
    if body and not body[0].strip():
        del body[0]
    notes = [row for note in output.notes for row in hanging(safe(note), wide)]
    foot = hanging(output.foot, wide)
    edge = paint("accent", "│")
    return [
        paint("accent", f"╭ {output.title}"),
        *(f"{edge} {row}".rstrip() for row in body),
        *(f"{edge} {paint('warn', row)}" for row in notes),
        *(f"{paint('accent', '╰' if row is foot[-1] else '│')} {paint('dim', row)}" for row in foot),
    ]


async def as_turn(
    outputs: AsyncIterator[Output],
    session: AgentSession,
    interrupt: asyncio.Event,
    emit: Emit,
    text_of: Callable[[Answer], str],
    *,
    notices: bool = True,
) -> TurnEnded:
    """Turn a command's outputs into a turn: emit their events, and end with the answer's text.

    Return that end. The answer includes the messages of actions. With `notices`, these are events, too.
    """
    answer = Answer()
    why: list[str] = []

    async def heard(event: Event) -> None:
        await emit(event)
        if isinstance(event, CompactionEnded):
            why.append(event.why)

    async with closing(outputs) as stream:
        async for output in stream:
            match output:
                case Said(lines, markdown):
                    answer = replace(answer, lines=(*answer.lines, *lines), markdown=markdown)
                case Acted(events):
                    for event in events:
                        if notices or not isinstance(event, Noticed):
                            await emit(event)
                    answer = _acted(answer, events, session)
                case Work(_, run):
                    await run(interrupt, heard)
                    answer = replace(answer, why=why[-1] if why else answer.why)
                case Sent(text, along):
                    return await session.run(Prompt(text, (*along, Text(text))), interrupt, emit)
    ended = TurnEnded("interrupted" if interrupt.is_set() else "done", text_of(answer))
    await emit(ended)
    return ended


def _acted(answer: Answer, events: Sequence[Event], session: AgentSession) -> Answer:
    window = f"The context has {session.report.window().used:,} tokens."
    return replace(answer, notices=(*answer.notices, *_messages(events)), window=window)


def _messages(events: Sequence[Event]) -> list[str]:
    said = [event.message for event in events if isinstance(event, Noticed)]
    return [*said, *(f"Cleared {len(event.call_ids)} outputs." for event in events if isinstance(event, Pruned))]

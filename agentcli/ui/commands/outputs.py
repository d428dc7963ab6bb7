"""Values that a slash command yields in every front end, and their conversion to lines at a terminal or to a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.ports import Interruptible, Prompt
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import InputError
from agentcli.core.event import CompactionEnded, Emit, Event, Noticed, Pruned, TurnEnded
from agentcli.core.message import Part, Text
from agentcli.core.streams import closing

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.ui.commands.base import CommandContext
    from agentcli.ui.host import Reports
    from agentcli.ui.style import Look


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a command in any front end: the open session, the program's reports, and the terminal if there is one."""

    session: AgentSession
    host: Reports
    terminal: CommandContext | None = None

    def only_in_terminal(self, usage: str) -> CommandContext:
        """Return the terminal. Raises InputError, naming the usage that needs it, in other front ends."""
        if self.terminal is None:
            raise InputError(f"{usage} works only in the terminal.")
        return self.terminal


@dataclass(frozen=True, slots=True)
class Said:
    """Lines of an answer. `drawn` returns them as styled, safe lines for a terminal of that many columns; `markdown`: they are Markdown, no report."""

    lines: Sequence[str]
    drawn: Callable[[int, Look], Sequence[str]] | None = None
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class Acted:
    """Events of a finished action. `done` is its message at a terminal, given the tokens now in the context."""

    events: Sequence[Event]
    done: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Long work that can be interrupted; `doing` names it."""

    doing: str
    run: Interruptible


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt for the model, always the last output of a command; the parts in `along` are sent with it and not shown."""

    text: str
    along: tuple[Part, ...] = ()


Output = Said | Acted | Work | Sent


@dataclass(frozen=True, slots=True)
class Answer:
    """The complete output of a command: its lines, messages of its actions, the resulting window, the reason for failed work; whether the lines are Markdown."""

    lines: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    window: str = ""
    why: str = ""
    markdown: bool = False


async def show(outputs: AsyncIterator[Output], terminal: CommandContext) -> None:
    """Show the outputs of a command at a terminal."""
    async with closing(outputs) as stream:
        async for output in stream:
            match output:
                case Said(lines, drawn):
                    if drawn is None:
                        terminal.say(*lines)
                    else:
                        terminal.show(*drawn(terminal.columns, terminal.look))
                case Acted(events, done):
                    terminal.show_events(events)
                    if done:
                        terminal.say(f"{done}: {terminal.session.report.window().used:,} tokens in context.")
                case Work(doing, run):
                    await terminal.play(doing, run)
                case Sent(text, along):
                    terminal.send(text, *along)


async def as_turn(
    outputs: AsyncIterator[Output],
    session: AgentSession,
    interrupt: asyncio.Event,
    emit: Emit,
    text_of: Callable[[Answer], str],
    *,
    notices: bool = True,
) -> TurnEnded:
    """Turn the outputs of a command into a turn: emit their events, the end with the answer's text last, and return that end.

    The answer includes the messages of actions; with `notices` they are events, too.
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
                case Said(lines, _, markdown):
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

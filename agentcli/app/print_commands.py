"""Slash commands that a run without a person knows, as prompts of `-p`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Event, Noticed, Pruned, TurnEnded
from agentcli.core.message import Text
from agentcli.core.text.slash import name_and_argument, no_command, unknown_command
from agentcli.ui.input.attachments import with_attachments
from agentcli.ui.input.missing_files import with_warnings

if TYPE_CHECKING:
    from agentcli.app.program import Program

Act = Callable[[AgentSession], Sequence[Event]]


@dataclass(frozen=True, slots=True)
class PrintCommand:
    """A slash command with its argument."""

    name: str
    argument: str = ""

    async def events(self, session: AgentSession, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """Carry it out. Ends with a TurnEnded; raises InputError where there is nothing to do."""
        if self.name == "review":
            async for event in _review(session, self.argument, interrupt):
                yield event
            return
        if self.name == "compress":
            async for event in session.compactor.compact(interrupt, "manual", focus=self.argument):
                yield event
            yield TurnEnded("done")
            return
        events = _ACTS[self.name, self.argument](session)
        for event in events:
            yield event
        yield TurnEnded("done", _result(session, events))


async def events_of(
    project: Program, session: AgentSession, text: str, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    """Say a prompt, or carry out the slash command that it is. Ends with a TurnEnded."""
    command = print_command(text, project)
    prompt = with_attachments(text, session.cwd)
    turn = with_warnings(session.turn(prompt, interrupt), text, session.cwd, session.servers)
    async for event in command.events(session, interrupt) if command else turn:
        yield event


async def _review(session: AgentSession, what: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    from agentcli.ui.commands.changes import review_prompt

    text, along = await review_prompt(session.cwd, what)
    async for event in session.turn(Prompt(text, (along, Text(text))), interrupt):
        yield event


_ACTS: Mapping[tuple[str, str], Act] = MappingProxyType(
    {
        ("uncompress", ""): lambda session: session.compactor.undo(),
        ("prune", ""): lambda session: session.compactor.prune(),
        ("prune", "undo"): lambda session: session.compactor.undo_prune(),
        ("undo", ""): lambda session: session.undo_stack.undo(),
        ("redo", ""): lambda session: session.undo_stack.redo(),
    }
)
_NAMES = ("compress", "review", *dict.fromkeys(name for name, _ in _ACTS))


def print_command(text: str, project: Program) -> PrintCommand | None:
    """The command that a prompt is; None for a prompt for the model, such as a command that a file of the project defines.

    Raises InputError for a slash command that only the terminal has, and for a lone or namespaced one that nobody has. What is no
    command's name and goes on (`/etc is full`, `/login answers 500`) is said, and so is what has several lines.
    """
    if not _COMMAND.match(text):
        _refuse_unread(text, project)
        _refuse_unknown(text, project)
        return None
    from agentcli.ui import commands

    typed, argument = name_and_argument(text)
    name = commands.known_as(typed)
    if name in ("compress", "review"):
        return PrintCommand(name, argument)
    if "\n" in text.strip():
        _refuse_unread(text, project)
        return None
    if name in _NAMES:
        if (name, argument) not in _ACTS:
            raise UsageError(f"/{name} takes {_arguments(name)} with -p, not {argument!r}.")
        return PrintCommand(name, argument)
    if name in commands.COMMANDS:
        known = ", ".join(f"/{each}" for each in _NAMES)
        raise InputError(
            f"/{typed} works only in the terminal; with -p, use {known}. `agentcli --help` lists options "
            "with the same effect. Put a space before it to send it as text."
        )
    _refuse_unknown(text, project)
    _refuse_unread(text, project)
    return None


def _refuse_unknown(text: str, project: Program) -> None:
    """Raise InputError for a command that nobody has."""

    def is_known(name: str) -> bool:
        from agentcli.integrations.extensions.lookup import named

        return named(project.extensions, name) is not None

    unknown = unknown_command(text, is_known, lambda server: server in project.servers.configured().servers)
    if unknown:
        raise no_command(unknown, project.trusted)


def _refuse_unread(text: str, project: Program) -> None:
    """Raise InputError for a command or skill of a folder that is not trusted: its arguments alone would be sent as text."""
    name, _ = name_and_argument(text)
    if project.trusted or not _FILED.match(text):
        return
    from agentcli.integrations.extensions.lookup import named
    from agentcli.integrations.extensions.places import defines

    if defines(name, project.cwd) and named(project.extensions, name) is None:
        raise InputError(
            f"/{name} is a command of this folder, which is not trusted; --trust reads it. Put a space before it to send it as text."
        )


_COMMAND = re.compile(r"/[a-z][a-z-]*(?:\s|$)")
_FILED = re.compile(r"/[\w-]+(?::[\w-]+)*(?:\s|$)")
"""A name that a file may give a command."""


def _arguments(name: str) -> str:
    return " or ".join(argument or "nothing" for each, argument in _ACTS if each == name)


def _result(session: AgentSession, events: Sequence[Event]) -> str:
    """The events' own text, and the size of the window that they leave."""
    said = [event.message for event in events if isinstance(event, Noticed)]
    said += [f"Cleared {len(event.call_ids)} outputs." for event in events if isinstance(event, Pruned)]
    return " ".join([*said, f"The window holds {session.report.window().used:,} tokens."])

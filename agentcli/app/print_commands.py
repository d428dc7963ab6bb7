"""Slash commands in prompts of `-p`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from agentcli.agent.session import AgentSession
from agentcli.app.feature import slash_commands
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError, UsageError
from agentcli.core.event import Event
from agentcli.core.sanitise import safe
from agentcli.core.streams import closing
from agentcli.core.text.slash import name_and_argument, no_command, unknown_command
from agentcli.ui.input.attachments import with_attachments
from agentcli.ui.input.missing_files import with_warnings

if TYPE_CHECKING:
    from agentcli.app.feature import WrapTurn
    from agentcli.app.program import Program
    from agentcli.ui.commands.definition import Command, Yields
    from agentcli.ui.commands.outputs import Answer


async def events_of(
    project: Program,
    session: AgentSession,
    text: str,
    interrupt: asyncio.Event,
    own: str | None = None,
    around: Iterable[WrapTurn] = (),
) -> AsyncIterator[Event]:
    """Say a prompt, or carry out the slash command that it is. Ends with a TurnEnded.

    `own` is the part of it that was not piped in, None for all. `around` wraps the turn.
    """
    if (found := print_command(text, project)) is not None:
        turn = _carried_out(*found, project, session, interrupt)
    else:
        prompt = replace(with_attachments(text, session.cwd), own=own)
        turn = session.turn(prompt, interrupt)
        if "@" in text:
            turn = with_warnings(turn, text, session.cwd, session.servers)
    for wrap in around:
        turn = wrap(turn, session, interrupt)
    async with closing(turn) as events:
        async for event in events:
            yield event


def _carried_out(
    yields: Yields, argument: str, project: Program, session: AgentSession, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    from agentcli.app.reports import ProgramReports
    from agentcli.ui.commands.outputs import Context, as_turn

    outputs = yields(Context(session, ProgramReports(project)), argument)
    return as_turn(outputs, session, interrupt, _text)


def _text(answer: Answer) -> str:
    """Return the text of an answer: a report as lines, an act as sentences."""
    return safe("\n".join(answer.lines)) or " ".join([*answer.notices, answer.window])


def print_command(text: str, project: Program) -> tuple[Yields, str] | None:
    """Return the command in a prompt, with its argument; None for a prompt for the model, such as a command that a project's file defines.

    Raises InputError for a slash command that works only in the terminal, and for an unknown one that is alone or has a namespace.
    Other text after an unknown name (`/etc is full`, `/login answers 500`) makes it a prompt, and so do several lines.
    """
    if not _COMMAND.match(text):
        _refuse_unread(text, project)
        _refuse_unknown(text, project)
        return None
    commands = slash_commands(project.features)
    typed, argument = name_and_argument(text)
    name = commands.known_as(typed)
    command = commands.all.get(name)
    if "\n" in text.strip() and not (command and command.yields and command.takes_text):
        _refuse_unread(text, project)
        return None
    if command is not None and command.yields is not None:
        if not command.takes(argument):
            raise UsageError(f"/{name} takes {_arguments(command)} with -p, not {argument!r}.")
        return command.yields, argument
    if command is not None:
        known = ", ".join(f"/{each}" for each in commands.everywhere)
        raise InputError(
            f"/{typed} works only in the terminal; with -p, use {known}. `agentcli --help` lists options "
            "with the same effect. Put a space before it to send it as text."
        )
    _refuse_unknown(text, project)
    _refuse_unread(text, project)
    return None


def _refuse_unknown(text: str, project: Program) -> None:
    """Raise InputError for a command that does not exist."""

    def is_known(name: str) -> bool:
        from agentcli.extensions.lookup import named

        return named(project.extensions, name) is not None

    unknown = unknown_command(text, is_known, lambda server: server in project.servers.configured().servers)
    if unknown:
        raise no_command(unknown, project.trusted)


def _refuse_unread(text: str, project: Program) -> None:
    """Raise InputError for a command or skill of a folder that is not trusted: its arguments alone would be sent as text."""
    name, _ = name_and_argument(text)
    if project.trusted or not _FILED.match(text):
        return
    from agentcli.extensions.lookup import named
    from agentcli.project.places import defines

    if defines(name, project.cwd) and named(project.extensions, name) is None:
        raise InputError(
            f"/{name} is a command of this folder, which is not trusted; --trust reads it. Put a space before it to send it as text."
        )


def refuse_unread_skills(own: str, project: Program) -> None:
    """Raise InputError for a skill of a folder that is not trusted and that a prompt names as `$skill`: it would be sent as a word."""
    if project.trusted or "$" not in own:
        return
    from agentcli.extensions.lookup import named
    from agentcli.extensions.mentions import mentions
    from agentcli.project.places import defines

    for one in mentions(own):
        if one.sign == "$" and defines(one.name, project.cwd) and named(project.extensions, one.name) is None:
            raise InputError(
                f"${one.name} is a skill of this folder, which is not trusted; --trust reads it. Put it between backticks to send it as text."
            )


_COMMAND = re.compile(r"/[a-z][a-z-]*(?:\s|$)")
_FILED = re.compile(r"/[\w-]+(?::[\w-]+)*(?:\s|$)")
"""A name that a file may give a command."""


def _arguments(command: Command) -> str:
    return " or ".join(value or "nothing" for value in command.values or ("",))

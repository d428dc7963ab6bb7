"""Slash commands in prompts of `-p`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.words import name_and_argument
from agentcli.features.mcp.run import McpRun
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.turns import typed

if TYPE_CHECKING:
    from agentcli.agent.ports import RunTurn
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.frontends.commands.outputs import Answer
    from agentcli.frontends.commands.registry import Meant, SlashCommands
    from agentcli.program.commands import Yields
    from agentcli.program.feature import WrapTurn
    from agentcli.program.program import Program


def turn_of(
    project: Program,
    session: AgentSession,
    text: str,
    own: str | None = None,
    around: Iterable[WrapTurn] = (),
) -> RunTurn:
    """Return the turn of a prompt or slash command. Raises InputError like `print_command`.

    `own` is the part that was not piped in, None for all. `around` wraps the turn.
    """
    if (found := print_command(text, project, own)) is not None:
        turn: RunTurn = partial(_carried_out, *found, project, session)
    else:
        turn = typed(session, replace(with_attachments(text, session.cwd), own=own), text)
    for wrap in around:
        turn = partial(wrap, turn, session)
    return turn


async def _carried_out(
    yields: Yields, argument: str, told: str,
    project: Program, session: AgentSession, interrupt: asyncio.Event, emit: Emit,
) -> TurnEnded:  # fmt: skip
    from agentcli.core.event import Noticed
    from agentcli.frontends.commands.outputs import as_turn
    from agentcli.program.commands import Context

    if told:
        await emit(Noticed(told))
    outputs = yields(Context(session, project), argument)
    return await as_turn(outputs, session, interrupt, emit, _text)


def _text(answer: Answer) -> str:
    """Return the text of an answer: a report as lines, an action as sentences."""
    return safe("\n".join(answer.lines)) or " ".join([*answer.notices, answer.window])


def print_command(text: str, project: Program, own: str | None = None) -> tuple[Yields, str, str] | None:
    """Return the command in a prompt, with its argument, and a sentence if it has another name by now.

    Return None if the prompt is for the model, such as a command from a project's file. Text after an unknown name
    (`/etc is full`, `/login answers 500`) also makes it such a prompt. So do several lines. `own` is the part that was
    not piped in, None for all.

    Raises InputError for a slash command that works only in the terminal. The same applies to an unknown command that
    is alone or has a namespace. A feature may also refuse the prompt.
    """
    name, argument = name_and_argument(text)
    commands = _commands(project) if _COMMAND.match(text) else None
    meant = _meant(text, name, argument, commands, project) if commands is not None else None
    answered = commands.everywhere.get(meant.command.name) if commands is not None and meant is not None else None
    if answered is None and (commands is None or commands.known_as(name) not in commands.all):
        for feature in project.active:
            feature.refuse(project, text, text if own is None else own)
    if commands is None or meant is None:
        _refuse_unknown(text, project)
        return None
    if answered is None:
        known = ", ".join(f"/{each}" for each in commands.everywhere if each in commands.listed)
        raise InputError(
            f"/{name} works only in the terminal; with -p, use {known}. `agentcli --help` lists options "
            "with the same effect. Put a space before it to send it as text."
        )
    return answered.yields, meant.argument, commands.told(meant)


def _meant(text: str, name: str, argument: str, commands: SlashCommands, project: Program) -> Meant | None:
    """Return what a prompt means as a command; None for a prompt for the model."""
    own = commands.known_as(name) in commands.all
    if not own and (argument or not commands.names(name) or _is_of_files(name, project)):
        return None
    if "\n" not in text.strip():
        return commands.meant(text)
    try:
        meant = commands.meant(text)
    except UsageError:
        return None
    return meant if meant.command.name in commands.everywhere and meant.command.takes_text else None


def _commands(program: Program) -> SlashCommands:
    from agentcli.frontends.commands.registry import slash_commands

    return slash_commands(program)


def _is_of_files(name: str, project: Program) -> bool:
    """Return True for a command or skill that files define."""
    from agentcli.program.prompt_files.mentions import named

    return named(project.prompt_files, name) is not None


def _refuse_unknown(text: str, project: Program) -> None:
    """Raise InputError for a command that does not exist."""
    if not text.startswith("/"):
        return
    from agentcli.frontends.commands.unknown import no_command, unknown_command

    def is_server(name: str) -> bool:

        run = project.part(McpRun)
        return run is not None and name in run.all.configured().servers

    unknown = unknown_command(text, lambda name: _is_of_files(name, project), is_server)
    if unknown:
        raise no_command(unknown, project.trusted, _commands(project).everywhere)


_COMMAND = re.compile(r"/[a-z][a-z-]*(?:\s|$)")

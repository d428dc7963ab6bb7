"""Slash commands in an editor: the commands that work in every front end."""

from __future__ import annotations

import asyncio
import re

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from agentcli.agent.session import AgentSession
from agentcli.core.event import Emit, TurnEnded
from agentcli.core.sanitise import safe
from agentcli.frontends.commands.extensions import items
from agentcli.frontends.commands.outputs import Answer, as_turn
from agentcli.frontends.commands.registry import SlashCommands
from agentcli.program.commands import Context, OutputCommand
from agentcli.program.program import Program

_LINE = re.compile(r"\s*/([a-z][a-z-]*)(?:\s+(.*\S))?\s*", re.DOTALL)


def available(session: AgentSession, commands: SlashCommands) -> list[AvailableCommand]:
    """Return the commands in the protocol's form, then the skills and commands from files, which are prompts."""
    own = [
        _listed(name, command.summary, command.usage.partition(" ")[2]) for name, command in commands.everywhere.items()
    ]
    from_files = [
        _listed(item.label, item.detail or item.label, "what it is about")
        for item in items(session, commands.everywhere)
    ]
    return [*own, *from_files]


def _listed(name: str, summary: str, hint: str) -> AvailableCommand:
    given = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=summary, input=given)


def command_in(text: str, commands: SlashCommands) -> tuple[OutputCommand, str] | None:
    """Return the command in a prompt, with its argument; None for a prompt for the model."""
    found = _LINE.fullmatch(text)
    command = commands.everywhere.get(commands.known_as(found[1])) if found else None
    if found is None or command is None or not command.takes(found[2] or ""):
        return None
    return command, found[2] or ""


async def run_command(
    command: OutputCommand, argument: str, session: AgentSession, program: Program, interrupt: asyncio.Event, emit: Emit
) -> TurnEnded:
    """Run a command: emit its events, and return its end with the answer."""
    outputs = command.yields(Context(session, program), argument)
    return await as_turn(outputs, session, interrupt, emit, _text, notices=False)


def _text(answer: Answer) -> str:
    """Return the text of an answer: a report as preformatted text, an action as lines, Markdown unchanged."""
    if answer.window:
        return "\n".join([*answer.notices, *(["", *answer.lines] if answer.lines else [answer.window])])
    report = "\n".join(answer.lines)
    if answer.markdown:
        return safe(report)
    return f"```\n{safe(report)}\n```" if answer.lines else answer.why

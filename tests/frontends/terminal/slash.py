"""Slash commands of the whole program, and how tests type them."""

from __future__ import annotations

import asyncio

from agentcli.core.errors import AgentError
from agentcli.frontends.commands.registry import built_in_commands
from agentcli.frontends.features import FEATURES
from tests.frontends.terminal.contexts import ScriptedContext

COMMANDS = built_in_commands(FEATURES)


def type_(context: ScriptedContext, *lines: str) -> list[str]:
    """Run the lines; return their output, error messages included."""
    context.output.clear()
    for line in lines:
        try:
            asyncio.run(COMMANDS.run(context, line))
        except AgentError as error:
            context.output.append(str(error))
    return context.output


def completions(name: str, context: ScriptedContext) -> list[str]:
    """Completions of a command's argument."""
    arguments = COMMANDS.find(name).arguments
    return [item.label for item in arguments(context.everywhere)] if arguments else []

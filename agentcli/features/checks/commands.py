"""The slash command of checks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.core.errors import UsageError
from agentcli.features.checks.report import lines
from agentcli.program.commands import Context, Output, Said, command


@command("Extensions", at_once=True)
async def checks(context: Context, argument: str) -> AsyncIterator[Output]:
    """List the checks after edits, and suggested ones: /checks

    A check is a command by glob in [checks] of config.toml; its new findings go to the model with the result of an edit. See /help checks.
    """
    if argument:
        raise UsageError("/checks takes no argument. Checks are set in [checks] of config.toml: /help checks.")
    yield Said(await asyncio.to_thread(lines, context.program, context.session))


COMMANDS = (checks,)

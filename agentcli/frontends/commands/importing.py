"""Slash command that imports the settings of other agents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentcli.core.errors import UsageError
from agentcli.core.text.words import one_of, plural
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.program.commands import Context, Item
from agentcli.program.extras import extra


def agents(context: Context) -> Sequence[Item]:
    """Return the programs with settings as completions."""
    return [Item(name) for name in extra("programs with settings")]


@terminal_command("Extensions", arguments=agents)
async def import_(context: CommandContext, name: str) -> None:
    """Import settings of other agents, after a question: /import [PROGRAM]

    It shows what it would write, and overwrites nothing. See /help import-config.
    """
    known = extra("programs with settings")
    if name and name not in known:
        raise UsageError(f"There is no program {name} to import from.{one_of(name, known)}")
    program = context.program
    plan = await asyncio.to_thread(extra("plan of an import"), program, [name] if name else [*known])
    context.say(*extra("lines of an import")(plan))
    if not plan.new or not await context.confirm(f"Write {plural(len(plan.new), 'item')}?"):
        return
    await asyncio.to_thread(extra("import"), plan, program.dirs.config)
    context.say(f"Wrote {plural(len(plan.new), 'item')} to {program.dirs.config}. /extensions reload reads them.")

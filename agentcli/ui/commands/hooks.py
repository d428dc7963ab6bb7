"""Slash command on the hooks of the session."""

from __future__ import annotations

import asyncio

from agentcli.core.errors import UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.starting import answers


@command(at_once=True)
async def hooks(context: CommandContext, argument: str) -> None:
    """List the hooks with their files and last results: /hooks [approve]

    Hooks are commands that run at events of the session: `agentcli help hooks`. `/hooks approve` asks again about each hook or
    server of this project that was declined or not yet approved. `agentcli hooks test` runs hooks on an event of your choice.
    """
    if argument not in ("", "approve"):
        raise UsageError("/hooks takes only `approve`, or no argument.")
    if not argument:
        context.say(*await asyncio.to_thread(context.host.report, "hooks", context.session))
        return
    found = context.host.undecided(context.session, declined=True)
    if not found:
        context.say("Nothing in this project needs your approval.")
        return
    given = await answers(found, context.confirm)
    settled = context.host.decide(context.session, given)
    if settled is not context.session:
        await context.move_to(settled)
    approved = [str(one) for one, yes in given if yes]
    context.say(f"Approved: {'; '.join(approved)}." if approved else "Nothing was approved.")

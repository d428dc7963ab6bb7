"""Slash command on the hooks of the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.core.errors import UsageError
from agentcli.features.hooks.report import lines
from agentcli.program.approvals import answers
from agentcli.program.commands import Context, Output, Said, command
from agentcli.program.consent import decide, undecided


@command("Extensions", at_once=True)
async def hooks(context: Context, argument: str) -> AsyncIterator[Output]:
    """List the hooks with their files and last results: /hooks [approve]

    Hooks are commands that run at events of the session: `agentcli help hooks`. `/hooks approve` asks again about each hook or
    server of this project that was declined or not yet approved. `agentcli hooks test` runs hooks on an event of your choice.
    """
    if argument not in ("", "approve"):
        raise UsageError("/hooks takes only `approve`, or no argument.")
    if not argument:
        yield Said(await asyncio.to_thread(lines, context.program, context.session))
        return
    terminal = context.only_in_terminal("/hooks approve")
    found = undecided(context.program, declined=True)
    if not found:
        yield Said(["Nothing in this project needs your approval."])
        return
    given = await answers(found, terminal.confirm)
    settled = decide(context.program, context.session, given)
    if settled is not context.session:
        await terminal.move_to(settled)
    approved = [str(one) for one, yes in given if yes]
    yield Said([f"Approved: {'; '.join(approved)}." if approved else "Nothing was approved."])


COMMANDS = (hooks,)

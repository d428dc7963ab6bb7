"""The slash command that shares a session."""

from __future__ import annotations

from agentcli.core.errors import UsageError
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command


@command("Sessions", at_once=True, values=("on", "off"))
async def remote(ctx: CommandContext, argument: str) -> None:
    """Share this session with your other programs here: /remote [on or off]

    `agentcli attach` and the page of `agentcli serve` follow it, answer its questions, steer and stop it. Only your own user can reach it. `ui.remote` shares every session. See /help serve.
    """
    sharing = ctx.host.sharing
    match argument:
        case "on":
            await sharing.begin()
            ctx.say(f"Shared. `agentcli attach {ctx.session.journal.id}` follows it.")
        case "off":
            await sharing.end()
            ctx.say("No longer shared.")
        case "":
            ctx.say(
                "This session is shared."
                if sharing.share is not None
                else "This session is not shared. /remote on shares it."
            )
        case _:
            raise UsageError("Use /remote on or /remote off.")


COMMANDS = (remote,)

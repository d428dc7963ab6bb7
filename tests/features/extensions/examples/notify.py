"""Tell the person on the desktop that a turn has ended."""

import shlex

from agentcli.extension import Context, TurnEnd, on, settings


@settings
class Settings:
    command: str = "notify-send agentcli"


@on("turn_end")
async def tell(turn: TurnEnd, ctx: Context) -> None:
    first = turn.text.strip().split("\n")[0][:80]
    done = await ctx.execute(f"{ctx.settings.command} {shlex.quote(f'{turn.ending}: {first}')}", timeout=5)
    if not done.ok:
        ctx.log(f"The notification failed: {done.output}")

"""Stash a copy of the work tree after each turn that has changed it."""

from agentcli.extension import Context, TurnEnd, on


@on("turn_end")
async def checkpoint(turn: TurnEnd, ctx: Context) -> None:
    made = await ctx.run("git stash create checkpoint")
    if made.ok and made.output.strip():
        ctx.state["checkpoints"] = [*ctx.state.get("checkpoints", []), made.output.strip()]
        ctx.ui.notify(f"Checkpoint {made.output.strip()[:8]}")

"""Stash a copy of the work tree before each turn, and offer to restore it when the session is forked."""

from agentcli.extension import Context, Prompt, SessionStart, on


@on("prompt")
async def checkpoint(prompt: Prompt, ctx: Context) -> None:
    made = await ctx.execute("git stash create checkpoint")
    if made.ok and made.output.strip():
        ctx.state["checkpoint"] = made.output.strip()
        ctx.ui.notify(f"Checkpoint {made.output[:8]}")


@on("session_start")
async def restore(start: SessionStart, ctx: Context) -> None:
    checkpoint = ctx.state.get("checkpoint")
    if start.source != "fork" or not checkpoint or not ctx.attended:
        return
    if await ctx.ui.confirm("Restore the files of that point?"):
        done = await ctx.execute(f"git checkout -q {checkpoint} -- .")
        ctx.ui.notify("The files are restored." if done.ok else "git could not restore the files.")

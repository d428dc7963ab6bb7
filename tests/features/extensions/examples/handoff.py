"""Write a prompt with which another session can go on."""

from agentcli.extension import Context, command


@command("/pass-on")
async def pass_on(ctx: Context, goal: str) -> str:
    """Write the prompt of a new session that goes on with a goal."""
    said = "\n".join(f"{one.role}: {one.text[:2000]}" for one in ctx.history if one.text)
    prompt = await ctx.ask_model(f"Write one prompt with all facts needed to reach this goal: {goal}\n\n{said}")
    ctx.state["handoff"] = prompt
    return prompt

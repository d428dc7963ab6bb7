"""A tool with which the model asks the person to choose."""

from agentcli.extension import Context, tool


@tool
async def choose(question: str, options: list[str], ctx: Context) -> str:
    """Ask the person to choose one of several options."""
    if not ctx.attended:
        return "Nobody is there. Decide yourself."
    return f"The person chose: {await ctx.ui.select(question, options, default='nothing')}"

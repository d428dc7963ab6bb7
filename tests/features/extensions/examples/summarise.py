"""Summarise the conversation so far for the person."""

from agentcli.extension import Context, command


@command("/summarise")
async def summarise(ctx: Context, focus: str = "") -> str:
    """Summarise the conversation so far."""
    said = [f"{one.role}: {one.text[:2000]}" for one in ctx.history if one.role in ("user", "assistant")]
    if not said:
        return "There is nothing to summarise."
    about = f" Focus on {focus}." if focus else ""
    return await ctx.ask_model(f"Summarise in five lines.{about}\n\n" + "\n".join(said))

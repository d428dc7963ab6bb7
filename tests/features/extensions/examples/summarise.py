"""Summarise the conversation so far for the person, who wants to resume it later."""

from agentcli.extension import Context, Said, command

ASK = "Summarise this conversation so that I can resume it: goals, decisions, progress, open questions, next steps."


@command("/summarise")
async def summarise(ctx: Context, focus: str = "") -> None:
    """Summarise the conversation so far."""
    said = [line(one) for one in ctx.history if one.role != "result"]
    if not said:
        ctx.ui.notify("There is nothing to summarise.")
        return
    about = f" Focus on {focus}." if focus else ""
    ctx.ui.show(await ctx.ask_model(f"{ASK}{about}\n\n" + "\n".join(said)), title="Summary of the conversation")


def line(one: Said) -> str:
    return f"tool {one.tool} was called with {one.input}" if one.role == "call" else f"{one.role}: {one.text[:2000]}"

"""Ask the person before the session's conversation is compacted by hand."""

from agentcli.extension import Compaction, Context, Decision, on


@on("before_compact")
async def confirm(compaction: Compaction, ctx: Context) -> Decision | None:
    if compaction.trigger == "manual" and not await ctx.ui.confirm("Compact the conversation?"):
        return compaction.block("You declined.")
    return None

"""Let another model write the whole summary of a compaction."""

from agentcli.extension import AgentError, Compaction, Context, Decision, on, settings

PROMPT = """Summarise this conversation under the headings Goal, Decisions with reasons, Changes to files, State, Next
steps. The summary replaces the conversation: keep every name, path and number that the work needs."""


@settings
class Settings:
    model: str = ""


@on("before_compact")
async def summarise(compaction: Compaction, ctx: Context) -> Decision | None:
    said = [f"{one.role}: {one.text[:3000]}" for one in compaction.messages if one.text]
    former = f"<former_summary>\n{compaction.summary}\n</former_summary>\n" if compaction.summary else ""
    ctx.ui.notify(f"Custom compaction of {len(said)} messages.")
    conversation = "\n".join(said)
    try:
        text = await ctx.ask_model(
            f"{PROMPT} {compaction.focus}\n{former}<conversation>\n{conversation}\n</conversation>",
            model=ctx.settings.model,
        )
    except AgentError as error:
        ctx.ui.warn(f"{error} The usual compaction is used.")
        return None
    return compaction.summarise(text) if text else None

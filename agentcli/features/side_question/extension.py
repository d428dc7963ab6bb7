"""Side questions: `/btw` asks the model about the conversation without adding to it."""

from __future__ import annotations

from agentcli.extension import Context, command


@command("/btw", at_once=True)
async def btw(ctx: Context, question: str) -> None:
    """Ask a side question that is not kept in the session.

    The model reads the conversation so far and answers without tools. The question and the answer are not part of the session; the cost
    is counted. You can ask during a turn. Esc stops the answer. See /help sessions.
    """
    answer = await ctx.ask_aside(question)
    title = "Side question, not part of the session"
    ctx.ui.show(answer.text, title=title, notes=answer.notes, foot=answer.cost)

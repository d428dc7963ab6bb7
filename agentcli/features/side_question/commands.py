"""The slash command of side questions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from agentcli.core.errors import UsageError
from agentcli.features.side_question.question import SideQuestion
from agentcli.program.commands import Context, Framed, Output, Work, command


@command("Work", at_once=True)
async def btw(ctx: Context, question: str) -> AsyncIterator[Output]:
    """Ask a side question that is not kept in the session: /btw QUESTION

    The model reads the conversation so far and answers without tools. The question and the answer are not part of the session; the cost
    is counted. You can ask during a turn. Esc stops the answer. See /help sessions.
    """
    if not question:
        raise UsageError("What is the question? Use /btw QUESTION.")
    aside = SideQuestion(ctx.session, question)
    yield Work("Answering the side question", partial(aside.ask, tell_cost=ctx.terminal is None))
    lines = [*filter(None, [aside.answer]), *(f"({note})" for note in aside.notes)]
    yield Framed(lines, True, "Side question, not part of the session", aside.answer, aside.notes, aside.spent)


COMMANDS = (btw,)

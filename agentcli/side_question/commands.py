"""The slash command of side questions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe
from agentcli.side_question.question import SideQuestion
from agentcli.ui.commands.definition import command
from agentcli.ui.commands.outputs import Context, Output, Said, Work
from agentcli.ui.render.cells import hanging
from agentcli.ui.render.markdown import document
from agentcli.ui.style import Look


@command("Work", where="everywhere", at_once=True)
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
    yield Said(lines, lambda columns, look: panel(aside, columns, look), markdown=True)


def panel(aside: SideQuestion, columns: int, look: Look) -> Sequence[str]:
    """Return the answer in a frame that sets it off from the conversation, with its cost at the end."""
    paint, wide = look.theme.paint, max(1, columns - 3)
    body = document(safe(aside.answer), wide, look) if aside.answer else []
    if body and not body[0].strip():
        del body[0]
    notes = [row for note in aside.notes for row in hanging(safe(note), wide)]
    spent = hanging(aside.spent, wide)
    edge = paint("accent", "│")
    return [
        paint("accent", "╭ Side question, not part of the session"),
        *(f"{edge} {row}".rstrip() for row in body),
        *(f"{edge} {paint('warn', row)}" for row in notes),
        *(f"{paint('accent', '╰' if row is spent[-1] else '│')} {paint('dim', row)}" for row in spent),
    ]


COMMANDS = (btw,)

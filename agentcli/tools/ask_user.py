"""The ask_user tool: the model asks the user questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.text.words import plural
from agentcli.core.tool import Behaviour, Choice, Question, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Answers:
    """The person who answers questions."""

    ask: Callable[[Sequence[Question]], Awaitable[Sequence[str] | None]]
    """Asks questions: the answers in order, an empty sequence if the user declines, None if no user is present."""


async def ask_user(ctx: ToolContext, call_id: str, questions: list[Question]) -> ToolOutput:
    if not questions:
        raise ToolError("questions is empty: ask at least one.")
    asked = [_question(item) for item in questions]
    person = ctx.service(Answers)
    answers = await person.ask(asked) if person is not None else None
    if answers is None:
        return ToolOutput("Nobody can answer: decide, and say what you assumed.", status="denied")
    if not answers:
        return ToolOutput("The user declined to answer. Decide yourself, and say what you assumed.", status="denied")
    pairs = zip(asked, answers, strict=False)
    return ToolOutput("\n".join(f"{item.question}\n→ {answer or '(no answer)'}" for item, answer in pairs))


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Ask: Which database?`."""
    match given.get("questions"):
        case [{"question": question}]:
            return f"Ask: {' '.join(str(question).split())}"
        case [*questions]:
            return f"Ask {plural(len(questions), 'question')}"
        case _:
            return "Ask the user"


def _question(asked: Question | Mapping[str, Any]) -> Question:
    if isinstance(asked, Question):
        return asked
    options = tuple(Choice(option["label"], option.get("description", "")) for option in asked.get("options", ()))
    return Question(asked["question"], asked.get("header", ""), options, asked.get("multiSelect", False))


ASK_USER = Entry(
    "ask_user",
    ask_user,
    title,
    Traits("ask", behaviour=Behaviour(needs_person=True, for_people=True, dispensable=True)),
)

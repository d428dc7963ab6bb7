"""Approvals and questions of the agent, answered by a function of the embedding program."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import Question
from agentcli.tools.function_tool import is_from_elsewhere

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that needs permission: `name` and `input` of the tool, a line about it, and the reason for asking.

    `preview` is the whole command, the unified diff of an edit, a plan, or the input as JSON.
    """

    name: str
    input: Mapping[str, Any]
    title: str
    why: str
    preview: str
    kind: Literal["command", "diff", "input", "plan"] = "input"


@dataclass(frozen=True, slots=True)
class Deny:
    """A refusal with its reason, which the model sees."""

    reason: str = ""


Answer = bool | str | Sequence[str] | Deny | None
"""For an Approval: True, False, a word, or Deny with a reason.

The word `session` also allows similar calls in the session. The word `always` saves a rule.

For a Question: the answer, several if several may be chosen, or None.
"""
OnAsk = Callable[[Approval | Question], Answer | Awaitable[Answer]]
"""Answers an approval or a question; a plain function or an async one."""


def approving(on_ask: OnAsk) -> Approve:
    """Return the approver that asks a function."""

    async def approve(request: ApprovalRequest) -> ApprovalResponse | None:
        call = request.call
        asked = Approval(call.name, dict(call.input), request.title, request.why, request.preview, request.kind)
        try:
            answer = await _answer(on_ask, asked)
        except ToolError as failed:
            return ApprovalResponse("no", str(failed))
        match answer:
            case True:
                return ApprovalResponse("once")
            case False | None:
                return ApprovalResponse("no")
            case "session":
                return ApprovalResponse("session")
            case "always":
                return ApprovalResponse("always")
            case Deny(reason):
                return ApprovalResponse("no", reason)
            case other:
                wrong = f"on_ask answered {other!r}. An approval takes True, False, 'session', 'always' or Deny."
                return ApprovalResponse("no", wrong)

    return approve


def answering(on_ask: OnAsk) -> AskUser:
    """Return the function for `ask_user` that asks `on_ask` each question. The first one without an answer ends the series."""

    async def ask(questions: Sequence[Question]) -> Sequence[str] | None:
        answers = []
        for question in questions:
            match await _answer(on_ask, question):
                case str() as text:
                    answers.append(text)
                case list() | tuple() as several if all(isinstance(each, str) for each in several):
                    answers.append(", ".join(several))
                case None | False | Deny():
                    return ()
                case other:
                    raise ToolError(f"on_ask answered {other!r}. A question takes a text, several, or None.")
        return answers

    return ask


async def _answer(on_ask: OnAsk, asked: Approval | Question) -> Any:
    """Return the function's answer.

    Raise ToolError if it fails: the model sees the error, and the session continues.
    """
    try:
        answer = on_ask(asked)
        return await answer if inspect.isawaitable(answer) else answer
    except BaseException as error:
        if is_from_elsewhere(error):
            raise
        _log.warning("on_ask failed", exc_info=True)
        raise ToolError(f"on_ask failed: {type(error).__name__}: {error}") from error

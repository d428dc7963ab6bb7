"""Questions to the person through a session's client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    PermissionOption,
    ToolCallUpdate,
)

from agentcli.core.tool import Question
from agentcli.frontends.acp.errors import UNANSWERED
from agentcli.frontends.acp.questions import NO, answer_options, answers_in, form_of
from agentcli.frontends.acp.tool_calls import text_content
from agentcli.frontends.acp.updates import new_id

_GRACE = 1.0
"""Seconds for an interrupted turn to withdraw its question."""

_log = logging.getLogger(__name__)


class Dialogs:
    """Questions of one session; `session_id` is set once the session exists. `form`: the client has forms. `cancel` interrupts the turn."""

    def __init__(self, client: Client, form: bool, cancel: Callable[[], object], session_id: str = "") -> None:
        self.session_id = session_id
        self._client, self._form, self._cancel = client, form, cancel

    async def choose(self, shown: ToolCallUpdate, choices: list[PermissionOption]) -> str | None:
        """Return the id of the person's choice; None without an answer. A cancelled question interrupts the turn."""
        try:
            response = await self._client.request_permission(self.session_id, shown, choices)
        except UNANSWERED as error:
            _log.warning("the editor did not answer a permission request: %s", error)
            return None
        if isinstance(response.outcome, AllowedOutcome):
            known = {choice.option_id for choice in choices}
            return response.outcome.option_id if response.outcome.option_id in known else None
        self._cancel()
        await asyncio.sleep(_GRACE)  # time for the interrupt to withdraw the question
        return None

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Ask the person the model's questions, in a form if the editor has forms.

        Without forms, ask one by one, and only questions with choices.
        """
        if self._form:
            return await self._ask_form(questions)
        if not any(question.choices for question in questions):
            return None
        answers = []
        for question in questions:
            answer = await self._ask_choice(question) if question.choices else ""
            if answer is None:
                return ()
            answers.append(answer)
        return answers

    async def _ask_form(self, questions: Sequence[Question]) -> Sequence[str] | None:
        message = "\n\n".join(question.question for question in questions)
        mode = ElicitationFormSessionMode(session_id=self.session_id, requested_schema=form_of(questions))
        try:
            response = await self._client.create_elicitation(message, mode)
        except UNANSWERED as error:
            _log.warning("the editor did not answer a form: %s", error)
            return None
        return answers_in(response.content or {}, questions) if isinstance(response, AcceptElicitationResponse) else ()

    async def _ask_choice(self, question: Question) -> str | None:
        shown = ToolCallUpdate(
            tool_call_id=f"question-{new_id()}",
            title=question.question,
            kind="other",
            status="pending",
            content=[
                text_content(f"{choice.label}: {choice.description}")
                for choice in question.choices
                if choice.description
            ]
            or None,
        )
        chosen = await self.choose(shown, answer_options(question))
        return None if chosen in (None, NO) else question.choices[int(chosen)].label

"""Questions about fetched pages, answered by the summarising model so that the page itself stays out of the context."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agentcli.agent.core import SessionCore
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError
from agentcli.core.event import UsageReported
from agentcli.core.message import Usage
from agentcli.resources import prompt
from agentcli.tools.web_fetch import PageAnswer

SHOWN = 200_000
"""Characters of a page, at most, that the model is shown: its beginning and its end."""
CHARACTERS = 3
"""Characters a token has at least: limits how much of a page is sent to a model with a small window."""
REPLY = 2_000
"""Tokens that it may answer with."""


class PageReader:
    """Answers questions about pages; the usage of each answer is printed as an event."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._seconds = core.setup.settings.limits.fetch_answer_seconds

    async def answer(self, question: str, page: str) -> PageAnswer:
        """Return the model's answer, or why it failed: raises no AgentError, since the page itself can still be read."""
        from agentcli.agent.compaction.summariser import Summariser
        from agentcli.core.subagent_result import spending
        from agentcli.core.text.truncate import truncate_middle

        try:
            model = self._core.setup.models.summariser(self._core.model)
        except AgentError as error:
            return PageAnswer(trouble=str(error))
        summariser = Summariser(model, calls=1, longest=REPLY)
        excerpt = truncate_middle(page, max(1, min(SHOWN, summariser.room * CHARACTERS)))
        text = f"{wrap('page', excerpt)}\n{wrap('question', question)}"
        forbidden = await self._core.objection(model.spec, len(text) // CHARACTERS)
        if forbidden:
            return PageAnswer(trouble=forbidden)
        request = replace(summariser.request([prompt("page.md")], text), options={"thinking": False})
        answer = trouble = ""
        try:
            async with asyncio.timeout(self._seconds):
                answer = await summariser.ask(request)
        except TimeoutError:
            trouble = f"{model.spec.name} took longer than {self._seconds:g} s."
        except AgentError as error:
            trouble = str(error)
        for event in summariser.news():
            self._core.printed.add(replace(event, kind="page") if isinstance(event, UsageReported) else event)
        spent = (
            spending(model.spec.name, summariser.usage, summariser.cost, "pages") if summariser.usage != Usage() else {}
        )
        return PageAnswer(answer.strip(), trouble, model.spec.name, spent)

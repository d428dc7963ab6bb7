"""The provider's own web search, in a separate request: each query needs permission, and the session keeps only the
result.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agentcli.agent.core import SessionCore
from agentcli.agent.reply import ReplyBuilder
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError, ModelError, ToolError
from agentcli.core.event import Noticed, ReplyRestarted, Retrying, UsageReported, Waiting
from agentcli.core.message import Text, Usage
from agentcli.core.model import Model, Request, RequestMessage, Source, StreamEvent
from agentcli.core.streams import closing
from agentcli.core.subagent_result import spending
from agentcli.resources import prompt
from agentcli.tools.web_search import Found

SEARCHES = 3
"""Maximum searches for one query."""
REPLY = 8_000
"""Tokens of the reply: an answer is short, but some models think first."""
PAUSES = 3
"""Most times that a paused reply is continued."""
SECONDS = 180.0
"""Maximum seconds for a search."""
SAID = 500
"""Characters of an answer without a search."""
_PROMPT_TOKENS = 1_000


class ProviderSearch:
    """Lets a model of the session's provider search the web: the summarising model if it can, else the session's."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    async def search(self, query: str) -> Found:
        """Return the pages and the model's answer. Raises ToolError."""
        model = self._model()
        if forbidden := await self._core.objection(model.spec, _PROMPT_TOKENS):
            raise ToolError(forbidden)
        asked, name, trouble = _Asked(self._core, model), model.spec.name, ""
        try:
            async with asyncio.timeout(SECONDS):
                await asked.run(query)
        except TimeoutError:
            trouble = f"The search by {name} took longer than {SECONDS:g} s."
        except ModelError as error:
            trouble = f"{name} could not search: {error}"
        if asked.trouble and not asked.sources:
            trouble = trouble or f"The search by {name} failed: {asked.trouble}."
        elif not asked.count:
            trouble = trouble or f"{name} has not searched the web. {asked.answer[:SAID]}".strip()
        return Found(f"{name} with web search", tuple(asked.sources), asked.answer, trouble, asked.spent())

    def _model(self) -> Model:
        models, spec = self._core.setup.models, self._core.model
        try:
            for model in (models.summariser(spec), models.connect(spec.name)):
                if model.spec.search_price is not None:
                    return model
        except AgentError as error:
            raise ToolError(str(error)) from error
        raise ToolError(
            f"{spec.name} has no web search of its own. Tell the user: set tools.web_search to brave, tavily or searxng."
        )


class _Asked:
    """One search: its results, and its cost."""

    def __init__(self, core: SessionCore, model: Model) -> None:
        self._core, self._model = core, model
        self.sources: dict[Source, None] = {}
        self.answer = self.trouble = ""
        self.count, self._usage, self._cost = 0, Usage(), 0.0

    async def run(self, query: str) -> None:
        """Ask, and continue the reply where the provider pauses it."""
        spec = self._model.spec
        messages = [RequestMessage("user", (Text(wrap("query", query)),))]
        for _ in range(PAUSES + 1):
            request = Request(
                spec,
                (prompt("web-search.md"),),
                (),
                tuple(messages),
                max_output=min(REPLY, spec.max_output),
                options={"thinking": False},
                searches=SEARCHES,
            )
            reply = await self._reply(request)
            self.answer = f"{self.answer}{reply.text}".strip()
            if reply.stop != "pause":
                return
            # The provider wants its own blocks back, unchanged.
            before = messages[1].parts if len(messages) > 1 else ()
            messages = [messages[0], RequestMessage("assistant", (*before, *reply.parts), spec.provider, spec.id)]

    async def _reply(self, request: Request) -> ReplyBuilder:
        reply = ReplyBuilder()
        stream: AsyncIterator[StreamEvent] = self._model.stream(request)
        try:
            async with closing(stream) as steps:
                async for step in steps:
                    if isinstance(step, ReplyRestarted):
                        self._pay(reply)
                    if isinstance(step, Retrying | Waiting | Noticed):
                        self._core.printed.add(step)
                    reply = reply.add(step)
        finally:
            self._pay(reply)
        return reply

    def _pay(self, reply: ReplyBuilder) -> None:
        spec, searched = self._model.spec, reply.searched
        if searched is not None:
            self.sources |= dict.fromkeys(searched.sources)
            self.count += searched.count
            self.trouble = searched.trouble or self.trouble
        if reply.usage is None:
            return
        tokens = spec.cost(reply.usage)
        cost = None if tokens is None else tokens + (searched.count if searched else 0) * (spec.search_price or 0.0)
        self._usage += reply.usage
        self._cost += cost or 0.0
        self._core.printed.add(UsageReported(reply.usage, cost, 0, kind="search"))

    def spent(self) -> dict[str, object]:
        """Return the metadata of the cost."""
        spec = self._model.spec
        cost = None if spec.prices is None else self._cost
        return dict(spending(spec.name, self._usage, cost, "searches")) if self._usage != Usage() else {}

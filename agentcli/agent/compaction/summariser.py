"""The summarising model with a budget of calls, and the cost of these calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from agentcli.agent.fallback import FallbackModel
from agentcli.agent.reply import ReplyBuilder
from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ModelError
from agentcli.core.event import Emit, Event, Noticed, ReplyRestarted, Retrying, UsageReported, Waiting, emit_all
from agentcli.core.message import Text, Usage
from agentcli.core.model import Model, ModelSpec, Request, RequestMessage
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task, until_set

_DEFAULT = SnapshotSettings()


NO_SUMMARY = "there is no summary in the provider's reply"


class Interrupted(Exception):
    """The user stopped the compaction."""


class Unusable(AgentError):
    """The summariser's replies are unusable, and no call is left to try again."""


@dataclass(slots=True)
class Summariser:
    """The summarising model with a budget of calls; adds up their cost and collects their events."""

    model: Model
    calls: int
    context: int = 0
    """Tokens in the session's window, reported with each call's usage."""
    interrupt: asyncio.Event | None = None
    longest: int = _DEFAULT.reply_tokens
    """The setting `reply_tokens` of `context.snapshot`."""
    margin: float = _DEFAULT.margin
    """The setting `margin` of `context.snapshot`."""
    forbidden: str = ""
    """The reason why it must not be called at all; empty if it may be."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    fallback: FallbackModel | None = None
    events: list[Event] = field(default_factory=list)
    _happened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spec(self) -> ModelSpec:
        """The spec of the model."""
        return self.model.spec

    @property
    def room(self) -> int:
        """Tokens that a prompt to it may hold."""
        return int((self.spec.window - self.max_reply) * (1 - self.margin))

    @property
    def max_reply(self) -> int:
        """Tokens that it may answer with."""
        return min(self.longest, self.spec.max_output, self.spec.window // 4)

    async def ask(self, request: Request) -> str:
        """Request a text, which may be truncated. Raises ModelError, Interrupted, and Unusable if there is no text."""
        if self.forbidden:
            raise Unusable(self.forbidden)
        if self.calls <= 0:
            raise Unusable("no summary call is left for this turn")
        self.calls -= 1
        while True:
            reply, failure = await self._heard(request)
            self._pay(reply)
            if self.interrupt and self.interrupt.is_set():
                raise Interrupted
            if reply.text.strip():
                return reply.text
            if failure is None:
                raise Unusable(f"the reply was empty ({reply.stop or 'cut'})")
            if not self._falls_back(failure):
                raise failure
            request = replace(request, model=self.spec, max_output=min(request.max_output, self.max_reply))

    async def ask_provider(self, model: Model, request: Request) -> Text:
        """Request this model's provider, which writes from now on, for its own summary. Raises like `ask`."""
        if self.forbidden:
            raise Unusable(self.forbidden)
        self.model = model
        reply, failure = await self._heard(request)
        self._pay(reply)
        if self.interrupt and self.interrupt.is_set():
            raise Interrupted
        made = next((part for part in reply.parts if isinstance(part, Text) and part.source == "compactor"), None)
        if made is not None and made.meta:
            return made
        raise failure or Unusable(NO_SUMMARY)

    async def tell_until(self, work: asyncio.Task[Any], emit: Emit) -> None:
        """Emit events as they occur until `work` is done; cancelling this call cancels it."""
        try:
            while not work.done():
                happened = start_task(self._happened.wait())
                await asyncio.wait((work, happened), return_when=asyncio.FIRST_COMPLETED)
                happened.cancel()
                await emit_all(self.news(), emit)
            await emit_all(self.news(), emit)
        finally:
            work.cancel()
            await asyncio.wait((work,))

    def news(self) -> Sequence[Event]:
        """Return the events since the last call."""
        news, self.events = self.events, []
        self._happened.clear()
        return news

    def request(self, system: Sequence[str], text: str, **options: Any) -> Request:
        """Build a request that shows the model one text."""
        message = RequestMessage("user", (Text(text),))
        return Request(self.spec, tuple(system), (), (message,), max_output=self.max_reply, options=options)

    async def _heard(self, request: Request) -> tuple[ReplyBuilder, ModelError | None]:
        reply = ReplyBuilder()
        try:
            async with closing(until_set(self.interrupt, self.model.stream(request))) as steps:
                async for step in steps:
                    if isinstance(step, ReplyRestarted):
                        self._pay(reply)
                    reply = reply.add(step)
                    if isinstance(step, Retrying | Waiting | Noticed):
                        self._tell(step)
        except ModelError as error:
            return reply, error
        return reply, None

    def _falls_back(self, failure: ModelError) -> bool:
        """Return True if the fallback model writes from now on; report the switch."""
        other = self.fallback.instead_of(self.spec, failure) if self.fallback else None
        if other is None:
            return False
        self.model = other
        self._tell(Noticed(f"{failure} The summary is written by {self.spec.name} (agent.fallback_model)."))
        return True

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        self._happened.set()

    def _pay(self, reply: ReplyBuilder) -> None:
        if reply.usage is None:
            return
        cost = self.spec.cost(reply.usage)
        self.usage += reply.usage
        self.cost = self.cost if cost is None else (self.cost or 0.0) + cost
        self._tell(UsageReported(reply.usage, cost, self.context, kind="summary"))

"""Side questions: one request with the prefix of the session's next one.

Its answer is shown and forgotten, its cost recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from agentcli.agent.core import SessionCore
from agentcli.agent.hooks import Outcome
from agentcli.agent.reply import ReplyBuilder
from agentcli.core.costs import money
from agentcli.core.errors import AgentError, HookBlocked, ModelError
from agentcli.core.event import Emit, Event, Noticed, ReplyRestarted, Retrying, UsageReported, Waiting, emit_all
from agentcli.core.message import Part, Text, ToolCall, Usage, reminder
from agentcli.core.record import FeatureState
from agentcli.core.streams import closing
from agentcli.core.tasks import until_set

NAME = "side questions"
"""The name of the feature, and of its records."""
RULES = (
    "The user asks a side question. Answer it now, in one reply, from what the conversation says; if it does not say it, say so. You cannot call "
    "tools: a call is not run. Do not continue the task, and promise nothing: neither the question nor your answer becomes part of the conversation. "
    "Calls that seem to be interrupted may still be running."
)
SHOWN = 60
"""Characters of a call to show."""


class SideQuestion:
    """Asks; afterwards `answer` is the model's text, `notes` are for the person, and `spent` is the cost.

    `prepare` waits for what the session's next request needs. Without it the session must have begun.
    """

    def __init__(
        self, core: SessionCore, text: str, prepare: Callable[[asyncio.Event], Awaitable[None]] | None = None
    ) -> None:
        self._core, self._text, self._prepare = core, text, prepare
        self._usage = Usage()
        self._cost: float | None = None
        self.answer = ""
        self.notes: tuple[str, ...] = ()
        self.spent = ""

    async def ask(self, interrupt: asyncio.Event, emit: Emit, *, tell_cost: bool) -> None:
        """Ask, and record the cost; with `tell_cost` the last event reports it.

        Raises AgentError if a hook, a budget or the provider refuses it.
        """
        core = self._core
        if self._prepare is not None:
            await self._prepare(interrupt)
        elif not core.journal.history.system:
            raise AgentError("The session has not begun: there is no conversation to ask about.")
        asked = await core.hooks.prompt(self._text, interrupt)
        await emit_all(asked.events, emit)
        model, request = core.builder.model, core.builder.aside(self._parts(asked))
        if forbidden := await core.objection(model.spec, core.builder.window().tokens):
            raise AgentError(f"The side question was not sent: {forbidden}")
        reply = ReplyBuilder()
        try:
            async with closing(until_set(interrupt, model.stream(request))) as steps:
                async for step in steps:
                    if isinstance(step, ReplyRestarted):
                        await emit_all(self._paid(reply), emit)
                    reply = reply.add(step)
                    if isinstance(step, Retrying | Waiting | Noticed):
                        await emit(step)
        except ModelError:
            if not reply.text.strip():
                raise
            self.notes = ("The answer broke off.",)
        finally:
            paid = [*self._paid(reply)]
            self._record(model.spec.name)
        await emit_all(paid, emit)
        self._take(reply, interrupt.is_set())
        if tell_cost:
            await emit(Noticed(f"Side question: {self.spent}"))

    def _parts(self, asked: Outcome) -> tuple[Part, ...]:
        """Return the question with its rules, and the hooks' additions. Raises HookBlocked if they block it."""
        verdict = asked.verdict
        if verdict.blocks or verdict.ends:
            why = verdict.stop_reason or verdict.reason or "it gave no reason"
            raise HookBlocked(f"{asked.who} kept the side question from being sent: {why}")
        added = (Text(verdict.context, True, "hook"),) if verdict.context else ()
        return (*added, reminder(RULES), Text(self._text))

    def _paid(self, reply: ReplyBuilder) -> Iterator[Event]:
        """Count the cost of a reply, and report it."""
        if reply.usage is not None:
            cost = self._core.builder.model.spec.cost(reply.usage)
            self._usage += reply.usage
            self._cost = self._cost if cost is None else (self._cost or 0.0) + cost
            yield UsageReported(reply.usage, cost, 0, kind="aside")

    def _record(self, model: str) -> None:
        if self._usage.total:
            self._core.record(FeatureState(NAME, {}, model, self._usage, self._cost))
        usage = self._usage
        if not usage.total:
            self.spent = "the provider reported no charge"
            return
        self.spent = f"{money(self._cost)}, {usage.prompt:,} tokens in ({usage.cache_read:,} from the cache), {usage.output:,} out"

    def _take(self, reply: ReplyBuilder, interrupted: bool) -> None:
        calls = [part.name for part in reply.parts if isinstance(part, ToolCall)]
        self.answer = reply.text.strip()
        if interrupted:
            self.notes = ("Interrupted.",)
        elif calls:
            names = ", ".join(dict.fromkeys(calls))[:SHOWN]
            self.notes = (
                f"The model called {names}, which was not run: a side question has no tools. Ask it as a prompt.",
            )
        elif reply.stop == "max_tokens":
            self.notes = ("The answer was cut off at the limit of tokens.",)
        elif not self.answer and not self.notes:
            self.notes = (f"The model gave no answer ({reply.stop or 'the reply broke off'}).",)

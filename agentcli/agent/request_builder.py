"""Builder of a session's requests from its journal: it counts and checks them, and watches the provider's prompt cache.

A skill or slash command may request another model or effort for one turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agentcli.agent.ports import TurnGrants
from agentcli.agent.settings import AgentSettings
from agentcli.context.assemble import Assembler
from agentcli.context.cache_health import health_of
from agentcli.context.invariants import Passed, check, ensure, mended
from agentcli.context.pruning.blocks import Supersession, ViewBlocks
from agentcli.context.settings import NATIVE, ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, grown, view
from agentcli.context.window import Window, window_of
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Noticed, Warned
from agentcli.core.history import History, evolve
from agentcli.core.journal import Journal
from agentcli.core.message import Message, Part, Usage
from agentcli.core.model import Model, ModelSpec, Request, ToolSchema
from agentcli.core.record import Record
from agentcli.core.tasks import until_interrupted
from agentcli.core.tool import Traits

_log = logging.getLogger(__name__)


class RequestBuilder:
    """Builds a session's requests. `model` may be replaced; `system` and `tools` begin each request.

    `settings` are the context settings, `traits` the traits of all tools. A request that breaks an invariant raises in
    tests (`strict`); otherwise it is repaired and logged.
    """

    def __init__(
        self,
        journal: Journal,
        model: Model,
        system: tuple[str, ...],
        tools: tuple[ToolSchema, ...],
        counter: TokenCounter,
        settings: ContextSettings,
        agent: AgentSettings,
        traits: Mapping[str, Traits],
        *,
        strict: bool = False,
    ) -> None:
        self.journal = journal
        self.model = model
        self.system = system
        self.tools = tools
        self.counter = counter
        self.settings = settings
        self.traits = traits
        self.cache = CacheMonitor(journal, model.spec, traits, settings.cache.thrash)
        self.effort: str = agent.effort
        """The thinking effort in force."""
        self._agent = agent
        self._strict = strict
        self.clears_nothing = False
        """True once the provider failed to clear as requested: then `auto` replaces `native`."""
        self.compacts_nothing = False
        """True once the provider refused to compact: then `auto` replaces `provider`."""
        self._assembler, self._passed = Assembler(), Passed()
        self._supersession, self._blocks = Supersession(), ViewBlocks()
        self._seen = journal.history, view(journal.history)
        self._window: tuple[View, tuple[object, ...], Window] | None = None
        self.recount()

    def begin(self, history: History) -> None:
        """Begin each request with the session's recorded system prompt and tools."""
        self.system, self.tools = history.system, tuple(map(ToolSchema.recorded, history.tools))
        self.recount()

    def window(self) -> Window:
        """Return the current context window."""
        history = self.journal.history
        if self._seen[0] is not history:
            self._seen = history, grown(history, *self._seen)
        seen, spec = self._seen[1], self.spec
        state = spec, self.settings, self.counter.calibration, self.counter.head
        if self._window is None or self._window[0] is not seen or self._window[1] != state:
            # Cached, because the provider's count is valid only for this exact view.
            known = self._supersession, self._blocks
            window = window_of(seen, spec, self.counter, self.settings, self.traits, *known)
            self._window = seen, state, window
        return self._window[2]

    def request(self) -> Request:
        """Return the next request, and record it as sent. The same records give the same bytes."""
        request = self._checked(self._assembled(self.window(), self._assembler))
        self.cache.note_request(request)
        return request

    def aside(self, parts: tuple[Part, ...]) -> Request:
        """Return the request that a prompt of these parts would make now. Nothing is recorded."""
        self.window()
        history = self.journal.history
        asked = Record(history.last_seq + 1, "", "", "", Message("user", parts, history.turn + 1))
        shown = grown(evolve(history, asked), history, self._seen[1])
        window = window_of(shown, self.spec, self.counter, self.settings, self.traits)
        return self._assembled(window, Assembler())

    async def count_exactly(self, interrupt: asyncio.Event) -> bool:
        """Ask the provider for the size of the next prompt.

        Return False, and keep the estimate, if it does not answer in time.
        """
        counting = self.model.count(self._assembled(self.window(), self._assembler))
        tokens = await until_interrupted(interrupt, counting, self.settings.exact_count_seconds)
        if tokens is not None:
            self.counter.set_exact(self.window().view, tokens)
        return tokens is not None

    def recount(self) -> None:
        """Set the counter to the current model, and calibrate it by the session's replies."""
        self.counter.use_model(self.model.spec.id, self.system, self.tools)
        self.counter.learn(self.journal.history)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of every request."""
        agent = self._agent
        return {
            "thinking": agent.thinking,
            "effort": self.effort,
            "thinking_budget": agent.thinking_budget,
            "session": self.journal.id,
        }

    @property
    def spec(self) -> ModelSpec:
        """Spec of the current model, without capabilities in which its provider failed in this session."""
        spec = self.model.spec
        if self.cache.extended:
            spec = replace(spec, cache_lifetime=spec.cache_lifetime + self.cache.extended)
        if self.clears_nothing and spec.context_editing:
            spec = replace(spec, context_editing=False)
        return replace(spec, compacts_from=0) if self.compacts_nothing and spec.compacts_from else spec

    def _assembled(self, window: Window, assembler: Assembler) -> Request:
        request = assembler.assemble(
            window.view,
            self.system,
            self.tools,
            self.model.spec,
            options=self.options,
            max_output=self._agent.max_output,
            counter=self.counter,
            milestone=self.settings.cache.milestone,
        )
        if window.settings.policy != NATIVE or not window.settings.prune.enabled:
            return request
        from agentcli.context.context_editing import context_edits_of

        asked = context_edits_of(window.view, window.usable, self.counter, window.settings, self.traits)
        return replace(request, context_edits=asked)

    def _checked(self, request: Request) -> Request:
        seen, former = self.window().view, self.cache.sent
        if self._strict:
            return ensure(request, seen, former=former, passed=self._passed)
        broken = check(request, seen, former=former, passed=self._passed)
        for violation in broken:
            _log.error("a request had to be mended before it was sent: %s", violation)
        return mended(request, broken)


class CacheMonitor:
    """`health` sums up the cache use of the session's requests; `sent` is this process's newest request.

    `thrash` misses in a row count as thrashing.
    """

    def __init__(self, journal: Journal, model: ModelSpec, tools: Mapping[str, Traits], thrash: int) -> None:
        self.health = health_of(_records_in_view(journal.history), model, tools, thrash)
        self.sent: Request | None = None
        self.clock: Callable[[], float] = time.time
        """Clock in seconds. It also runs while the machine sleeps, like the provider's."""
        self.used_at = 0.0
        """When the newest answered request was sent or repeated; 0: never."""
        self.extended = 0.0
        """Seconds by which repetitions have prolonged the life of the prompt's cache."""
        self._journal = journal
        self._sent_at = 0.0
        self._edits = 0

    def note_request(self, request: Request) -> None:
        """Note a request that is sent now."""
        self.sent, self._sent_at, self.extended = request, self.clock(), 0.0

    def note_repetition(self) -> None:
        """Note that the newest request was repeated now, so its cache lives on."""
        now = self.clock()
        self.extended += now - self.used_at
        self.used_at = now

    def note_usage(self, usage: Usage) -> None:
        """Update `health` with the usage of the sent request."""
        if self.sent is None:
            return
        edits = self._edits_now()
        idle = self._sent_at - self.used_at if self.used_at else 0.0
        self.health = self.health.after(self.sent, usage, edited=edits != self._edits, idle=idle)
        self._edits, self.used_at = edits, self._sent_at

    def is_expired(self, lifetime: float) -> bool:
        """Return True if the prompt that this process sent has left the cache, whose entries live `lifetime` seconds."""
        return bool(self.used_at) and self.clock() - self.used_at > lifetime

    def expected(self, size: int, lifetime: float, *, edited: bool = False) -> Usage:
        """Return the expected usage of a prompt of `size` tokens; cache entries live `lifetime` seconds.

        `edited`: by the provider, for this request.
        """
        cold = edited or not self.used_at or self.is_expired(lifetime)
        read = 0 if cold or self._edits != self._edits_now() else min(size, self.health.expected)
        return Usage(input=size - read, cache_read=read)

    def _edits_now(self) -> int:
        """Return a number that changes whenever earlier messages change."""
        history = self._journal.history
        return len(history.prunes) + (history.compaction.seq if history.compaction else 0)


def _records_in_view(history: History) -> Sequence[Record]:
    """Return the view's records, including edits, in order."""
    newest = [history.compaction] if history.compaction else []
    return sorted((*history.entries, *history.prunes, *newest), key=lambda record: record.seq)


_SAME = ("", "inherit")
_CLAUDE = ("opus", "sonnet", "haiku")
"""Model names in Claude Code's files; a session with another provider keeps its own model."""


def keeps_model(wanted: str, spec: ModelSpec) -> bool:
    """Return True if a file that requests this model accepts the current one."""
    return wanted in _SAME or (wanted in _CLAUDE and spec.kind != "anthropic")


@contextmanager
def changed_for_turn(
    builder: RequestBuilder, grants: TurnGrants, connect: Callable[[str], Model]
) -> Iterator[Sequence[Event]]:
    """Run a turn with another model or effort; yields notices about it. Restores the session's own afterwards."""
    model, effort = builder.model, builder.effort
    events: list[Event] = []
    if grants.effort not in _SAME:
        builder.effort = grants.effort
    if not keeps_model(grants.model, model.spec):
        try:
            wanted = connect(grants.model)
        except AgentError as error:
            events.append(Warned(f"It runs with {model.spec.name}, because {grants.model} is not available: {error}"))
        else:
            if wanted.spec.name != model.spec.name:
                builder.model = wanted
                events.append(
                    Noticed(f"This turn runs with {wanted.spec.name}; the cache of {model.spec.name} is not used.")
                )
    changed = builder.model
    try:
        yield events
    finally:
        builder.effort = effort
        if builder.model is changed:
            builder.model = model

"""Keeps the view within the window: prunes first, compacts when that is not enough, and says what it did and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentcli.agent.hooks import Hooks
from agentcli.agent.standby import Standby
from agentcli.context.ahead import due_prune
from agentcli.context.policies import compacts_from, near_a_mark, plan, plan_prune, policy_of
from agentcli.context.prune import Pressure
from agentcli.context.settings import ContextSettings
from agentcli.context.window import Window
from agentcli.core.errors import ContextError
from agentcli.core.event import CompactionEnded, Event, Noticed, Pruned
from agentcli.core.journal import Journal
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import Compaction, Prune, Trigger

if TYPE_CHECKING:
    from agentcli.agent.talk import Talk


class Room:
    """The space of one session. `summariser` connects the model that writes summaries for a given model, `standby` may take over from it."""

    def __init__(
        self,
        settings: ContextSettings,
        summariser: Callable[[ModelSpec], Model],
        hooks: Hooks,
        standby: Standby | None = None,
    ) -> None:
        self.settings = settings
        self._standby = standby
        self._summariser = summariser
        self._hooks = hooks
        self._futile_size: int | None = None
        self._calls_left = settings.max_summary_calls

    def new_turn(self) -> None:
        """The user has said something, or asks for a summary: as many calls as for a turn may be made again."""
        self._calls_left = self.settings.max_summary_calls

    async def make(self, talk: Talk, interrupt: asyncio.Event, *, boundary: bool) -> AsyncIterator[Event]:
        """Before a request: prune if that pays, compact at the soft mark (`boundary`: between turns) or at the hard one.

        Raises ContextError rather than send what is known not to fit.
        """
        window = talk.window()
        pruner, usable = policy_of(window).prune, window.usable
        if pruner and (boundary or not pruner.once_a_prompt):
            for event in _cleared(talk, *due_prune(window, datetime.now(UTC))):
                yield event
        window = talk.window()
        if window.tokens > usable or near_a_mark(window):
            await talk.count_exactly(interrupt)
        mark = plan(window).trigger
        over = window.tokens > usable
        wanted = mark is not None and (boundary or mark != "soft") and self._worth_trying(window, talk.journal)
        if wanted or (over and self.settings.autocompact):
            async for event in self.compact(talk, interrupt, "auto"):
                yield event
        if talk.size() <= usable or interrupt.is_set():
            return
        # An estimate alone does not stop the work while the window may still hold it: then the provider decides.
        if await talk.count_exactly(interrupt) or talk.size() > window.limits.window:
            size = talk.size()
            if size > usable:
                raise ContextError(_too_full(size, usable, self.settings.autocompact))

    async def compact(
        self, talk: Talk, interrupt: asyncio.Event, trigger: Trigger, *, focus: str = ""
    ) -> AsyncIterator[Event]:
        """Summarise what the policy chooses. Ends with a CompactionEnded."""
        # Imported when it is needed: what verifies a summary takes a tenth of a second to compile.
        from agentcli.agent.compact import compact
        from agentcli.agent.summaries.brief import Brief
        from agentcli.agent.summaries.secretary import Secretary

        if trigger == "manual":
            self.new_turn()
        window, manner, form = talk.window(), talk.manner, self.settings.snapshot
        brief = Brief(window, talk.model.spec, focus, manner.system, manner.tools, talk.options)
        summariser = self._summariser(talk.model.spec)
        secretary = Secretary(
            summariser,
            self._calls_left,
            window.tokens,
            interrupt,
            form.reply_tokens,
            form.margin,
            standby=self._standby,
        )
        async for event in compact(
            talk.journal,
            brief,
            secretary,
            trigger=trigger,
            hooks=self._hooks,
            may_call=lambda: talk.objection(summariser.spec),
            cwd=str(talk.kit.work.cwd),
        ):
            if isinstance(event, CompactionEnded):
                self._calls_left = secretary.calls
                self._learn(event, talk)
            yield event

    def preview(self, talk: Talk, focus: str) -> Sequence[str]:
        """What `compact` would do now, calling no model."""
        from agentcli.context.preview import preview

        return preview(talk.window(), self._summariser(talk.model.spec).spec)

    def prune(self, talk: Talk, *, forced: bool) -> Sequence[Event]:
        """Clear old outputs now."""
        body, why = plan_prune(talk.window(), Pressure(forced=forced))
        return _cleared(talk, body, why) or [Noticed(why)]

    def _worth_trying(self, window: Window, journal: Journal) -> bool:
        """Whether a compaction may do better than the last one that failed: not until the view has grown, or passed a mark."""
        if self._futile_size is None:
            self._futile_size = _failed_at(journal)
        size, then = window.tokens, self._futile_size
        passed = any(then < mark <= size for mark in (compacts_from(window), window.limits.hard))
        return self.settings.autocompact and (passed or size > (1 + self.settings.retry_growth) * then)

    def _learn(self, ended: CompactionEnded, talk: Talk) -> None:
        shrunk = ended.status == "compressed" and ended.tokens_after < ended.tokens_before * (
            1 - self.settings.min_shrink
        )
        self._futile_size = 0 if shrunk else talk.size()


def _cleared(talk: Talk, body: Prune | None, why: str) -> Sequence[Event]:
    return [] if body is None else [talk.record(body), Pruned(body.call_ids, body.tokens, why)]


def _failed_at(journal: Journal) -> int:
    """Tokens in the view when the newest compaction failed, 0 if it did not: a resumed session remembers."""
    newest = next((record.body for record in reversed([*journal.records_of("compaction")])), None)
    return newest.tokens_before if isinstance(newest, Compaction) and newest.status != "compressed" else 0


def _too_full(size: int, usable: int, tried: bool) -> str:
    why = "and cannot be made smaller" if tried else "and auto-compaction is switched off"
    cure = "Unpin messages (/unpin)" if tried else "Compact by hand (/compress)"
    return (
        f"The context holds {size:,} tokens of {usable:,} {why}. "
        f"{cure}, start anew (/new), or take a model with a larger window (/model)."
    )

"""Keeps the view within the window: prunes first, compacts when that is not enough, and says what it did and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentcli.agent.hooks import Hooks
from agentcli.agent.standby import Standby
from agentcli.context.ahead import due_prune
from agentcli.context.limits import Limits, limits_of
from agentcli.context.marks import compacts_from
from agentcli.context.policies import plan
from agentcli.context.prune import Pressure, plan_prune
from agentcli.context.settings import ContextSettings
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
        limits = limits_of(talk.model.spec, self.settings)
        # opencode's rule is asked once a prompt; the others whenever an edit might be free or pay.
        if boundary or self.settings.policy != "opencode":
            settings, now = self.settings, datetime.now(UTC)
            due = due_prune(talk.view(), talk.counts, limits, settings, settings.policy, talk.size(), now)
            for event in _cleared(talk, *due):
                yield event
        if talk.size() > limits.usable or self._is_close(talk.size(), limits):
            await talk.count_exactly(interrupt)
        mark = plan(self.settings.policy, talk.view(), limits, talk.counts, self.settings).trigger
        over = talk.size() > limits.usable
        wanted = mark is not None and (boundary or mark != "soft") and self._worth_trying(talk, limits)
        if wanted or (over and self.settings.autocompact):
            async for event in self.compact(talk, interrupt, "auto"):
                yield event
        if talk.size() <= limits.usable or interrupt.is_set():
            return
        # An estimate alone does not stop the work while the window may still hold it: then the provider decides.
        if await talk.count_exactly(interrupt) or talk.size() > limits.window:
            size = talk.size()
            if size > limits.usable:
                raise ContextError(_too_full(size, limits.usable, self.settings.autocompact))

    async def compact(
        self, talk: Talk, interrupt: asyncio.Event, trigger: Trigger, *, focus: str = ""
    ) -> AsyncIterator[Event]:
        """Summarise what the policy chooses. Ends with a CompactionEnded."""
        # Imported when it is needed: what verifies a summary takes a tenth of a second to compile.
        from agentcli.agent.compact import compact
        from agentcli.agent.summaries.secretary import Metered

        summariser = Metered(self._summariser(talk.model.spec))
        if trigger == "manual":
            self.new_turn()
        async for event in compact(
            talk.journal,
            summariser,
            talk.model.spec,
            self.settings,
            talk.counts,
            trigger=trigger,
            focus=focus,
            system=talk.manner.system,
            tools=talk.manner.tools,
            options=talk.options,
            interrupt=interrupt,
            hooks=self._hooks,
            calls=self._calls_left,
            may_call=lambda: talk.objection(summariser.spec),
            cwd=str(talk.kit.work.cwd),
            standby=self._standby,
        ):
            if isinstance(event, CompactionEnded):
                self._calls_left -= summariser.asked
                self._learn(event, talk)
            yield event

    def preview(self, talk: Talk, focus: str) -> Sequence[str]:
        """What `compact` would do now, calling no model."""
        from agentcli.agent.compact import preview

        spec = talk.model.spec
        limits = limits_of(spec, self.settings)
        return preview(talk.view(), limits, talk.counts, self.settings, spec, self._summariser(spec).spec)

    def prune(self, talk: Talk, *, forced: bool) -> Sequence[Event]:
        """Clear old outputs now."""
        settings, limits = self.settings, limits_of(talk.model.spec, self.settings)
        pressure = Pressure(forced=forced)
        body, why = plan_prune(
            talk.view(), talk.counts, limits, settings.prune, pressure=pressure, policy=settings.policy
        )
        return _cleared(talk, body, why) or [Noticed(why)]

    def _is_close(self, size: int, limits: Limits) -> bool:
        """Whether an estimate is so close to where something happens that an exact count is worth asking for."""
        margin, mark = self.settings.exact_count_margin, compacts_from(limits, self.settings)
        return limits.near_a_mark(size, margin) or (mark > 0 and abs(size - mark) <= margin * limits.usable)

    def _worth_trying(self, talk: Talk, limits: Limits) -> bool:
        """Whether a compaction may do better than the last one that failed: not until the view has grown, or passed a mark."""
        if self._futile_size is None:
            self._futile_size = _failed_at(talk.journal)
        size, then = talk.size(), self._futile_size
        passed = any(then < mark <= size for mark in (limits.soft, limits.hard))
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

"""Keep the view within the window.

Prune first, and compact if that is not enough. Report each step with its reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentcli.agent.fallback import FallbackModel
from agentcli.agent.hooks import Hooks
from agentcli.agent.request_builder import RequestBuilder
from agentcli.context.policies import nothing_due, plan, plan_prune, policy_of, worth_counting
from agentcli.context.settings import PROVIDER
from agentcli.context.window import INSTEAD, Window
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ContextError, InputError
from agentcli.core.event import CompactionEnded, Emit, Event, Noticed, Pruned, Recorded, emit_all
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import Text, ToolResult, reminder
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import Body, Compaction, Pin, Prune, Trigger, Undo
from agentcli.core.tool import Tool

if TYPE_CHECKING:
    from agentcli.agent.compaction.snapshot import Brief
    from agentcli.agent.compaction.summariser import Summariser
    from agentcli.context.compaction.handoff import Handoff
    from agentcli.context.policies.plans import Plan


HALF = 0.5
"""Share of the usable window above which the model may request a compaction."""
GROWN = 0.1
"""Share of the usable window that must be new since the last compaction."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A requested compaction: its focus, and the id of the call with the plan that stays verbatim, or empty."""

    focus: str
    plan: str = ""


class Compactor:
    """Prunes and compacts a session: before a request, or on demand. All changes go through `record`.

    `objection` is the reason why the session must not be shown to a model, or empty. `summariser` connects a model's
    summarising model, for which `fallback` may take over. `cwd` is the session's folder.
    """

    def __init__(
        self,
        builder: RequestBuilder,
        record: Callable[[Body], Recorded],
        objection: Callable[[ModelSpec], Awaitable[str]],
        summariser: Callable[[ModelSpec], Model],
        hooks: Hooks,
        fallback: FallbackModel,
        cwd: str,
        announced: Sequence[Tool] = (),
    ) -> None:
        """`announced` are the tools with which the model may request a compaction, once the context is half full."""
        self._builder = builder
        self._record = record
        self._objection = objection
        self._summariser = summariser
        self._hooks = hooks
        self._fallback = fallback
        self._cwd = cwd
        self.handoff: Handoff | None = None
        """The first message of a new session that continues this one; None until a handoff is requested."""
        self._announced = announced
        self._announced_after: int | None = None
        """Seq of the compaction since which the tools were announced, 0 for the session's beginning."""
        self._asked: _Asked | None = None
        self._futile_size: int | None = None
        self._calls_left = builder.settings.max_summary_calls

    def new_turn(self) -> None:
        """Reset the count of summariser calls, and the model's request: the user has sent a prompt or requested a
        summary.
        """
        self._asked = None
        self._calls_left = self._builder.settings.max_summary_calls

    def news(self) -> Sequence[str]:
        """Return the reminder that announces the tools, once for each time that the context becomes half full."""
        window, newest = self._builder.window(), self._history.compaction
        since = newest.seq if newest is not None else 0
        if not self._announced or self._announced_after == since or not _is_half_full(window):
            return ()
        self._announced_after = since
        texts = [_announcement(tool) for tool in self._announced]
        known = reminder(texts[0])
        return (
            () if any(isinstance(block.part, Text) and block.part == known for block in window.view.blocks) else texts
        )

    def ask(self, focus: str, approved: str = "") -> str:
        """Request a compaction before the next step; return why there will be none, or an empty text.

        `approved` is the id of the call whose result is an approved plan. That result is pinned, and any size is enough
        that leaves something to summarise.
        """
        window = self._builder.window()
        if approved:
            planned = plan(window, forced=True)
            why = "" if planned.does_something else planned.reasons[-1]
        else:
            why = _needless(window, self._history)
        if not why:
            self._asked = _Asked(focus, approved)
        return why

    async def _as_asked(self, asked: _Asked, interrupt: asyncio.Event, emit: Emit) -> None:
        """Carry out a request of the model, or of the user with an approved plan."""
        for entry in reversed(self._history.entries):
            if asked.plan and isinstance(entry.body, ToolResult) and entry.body.call_id == asked.plan:
                await emit(self._record(Pin(entry.seq)))
                break
        planned = plan(self._builder.window(), forced=True)
        await self.compact(interrupt, emit, "auto", focus=asked.focus, planned=planned)

    async def make_room(self, interrupt: asyncio.Event, emit: Emit, *, boundary: bool) -> None:
        """Before a request: prune if that pays, compact at the soft mark (`boundary`: between turns) or at the hard one.

        Raises ContextError rather than send a request known not to fit.
        """
        if (asked := self._asked) is not None:
            self._asked = None
            await self._as_asked(asked, interrupt, emit)
        window = self._builder.window()
        if nothing_due(window):
            return
        from agentcli.context.room import compactions, due_prune, last_prune, prunes_of_turn

        prunes, usable = policy_of(window).prunes == "request", window.usable
        if prunes:
            made = prunes_of_turn(self._history, window)
            await emit_all(self._cleared(*due_prune(window, datetime.now(UTC), made)), emit)
        window = self._builder.window()
        if worth_counting(window, boundary=boundary):
            await self._builder.count_exactly(interrupt)
        for planned in compactions(self._builder.window, boundary=boundary, futile=self._failed_size):
            await self.compact(interrupt, emit, "auto", planned=planned)
            if interrupt.is_set():
                break
        window = self._builder.window()
        if window.tokens > usable and prunes and not interrupt.is_set():
            await emit_all(self._cleared(*last_prune(window)), emit)
            window = self._builder.window()
        if window.tokens <= usable or interrupt.is_set():
            return
        # An estimate alone does not stop the work while the window may still suffice: then the provider decides.
        known = await self._builder.count_exactly(interrupt)
        limit = usable if known else window.limits.window
        # A larger answered request proves that this limit is not the provider's.
        if window.tokens > limit and not _answered_beyond(window, limit):
            raise ContextError(_too_full(window))

    def after_turn(self) -> Sequence[Event]:
        """After an answered prompt: the prune of a policy that prunes only then."""
        window = self._builder.window()
        return self._cleared(*plan_prune(window)) if policy_of(window).prunes == "prompt" else []

    async def compact(
        self, interrupt: asyncio.Event, emit: Emit, trigger: Trigger, *, focus: str = "", planned: Plan | None = None
    ) -> None:
        """Summarise what the policy chooses, or the given `planned` plan. Only events of hooks follow its CompactionEnded."""
        # Imported on demand: compiling the verification of summaries takes a tenth of a second.
        from agentcli.agent.compaction.run import CompactionRun

        if trigger == "manual":
            self.new_turn()
        brief, summariser = self._summarising(interrupt, focus)
        spec = summariser.spec
        run = CompactionRun(
            self._builder.journal,
            brief,
            summariser,
            trigger=trigger,
            hooks=self._hooks,
            may_call=lambda: self._objection(spec),
            cwd=self._cwd,
            planned=planned,
            main=self._builder.model if policy_of(brief.window).by_provider else None,
        )
        ended = await run.run(emit)
        self._calls_left = summariser.calls
        self._learn(ended)
        if run.refused:
            await emit(self._refused(run.refused))
        await emit(ended)
        if ended.status == "compressed":
            await emit_all(await self._compacted(trigger, interrupt), emit)

    def _refused(self, why: str) -> Event:
        """Request no more compactions from the provider, and return the notice about it."""
        self._builder.compacts_nothing = True
        return Noticed(f"{self._builder.model.spec.name} did not compact: {why}. {INSTEAD[PROVIDER]}")

    async def _compacted(self, trigger: Trigger, interrupt: asyncio.Event) -> Sequence[Event]:
        newest = self._history.compaction
        summary = newest.body.snapshot if newest is not None and isinstance(newest.body, Compaction) else ""
        return (await self._hooks.post_compact(trigger, summary, interrupt)).events

    async def hand_off(self, interrupt: asyncio.Event, emit: Emit, following: str) -> None:
        """Write the handoff to a new session, and store it in `handoff`. The last event is a CompactionEnded.

        Raises InputError if the session has no messages yet.
        """
        from agentcli.agent.compaction.handoff import HandoffRun

        if not self._history.turn:
            raise InputError("Nothing to hand off: this session has no messages yet.")
        self.new_turn()
        self.handoff = None
        brief, summariser = self._summarising(interrupt, following)
        spec = summariser.spec
        run = HandoffRun(
            self._builder.journal, brief, summariser, may_call=lambda: self._objection(spec), cwd=self._cwd
        )
        self.handoff = await run.run(emit)

    @property
    def passing_rules(self) -> Sequence[str]:
        """The user's rules that only this session knows: no instruction file contains them."""
        made, known = self.handoff, "\n".join(self._history.system)
        rules = made.beginning.ledger.get("rules", ()) if made else ()
        return [str(rule["text"]) for rule in rules if str(rule["text"]) not in known]

    def _summarising(self, interrupt: asyncio.Event, focus: str) -> tuple[Brief, Summariser]:
        from agentcli.agent.compaction.snapshot import Brief
        from agentcli.agent.compaction.summariser import Summariser

        builder, window = self._builder, self._builder.window()
        spec, form = builder.model.spec, window.settings.snapshot
        summariser = Summariser(
            self._summariser(spec),
            self._calls_left,
            window.tokens,
            interrupt,
            form.reply_tokens,
            form.margin,
            fallback=self._fallback,
        )
        return Brief(window, spec, focus, builder.system, builder.tools, builder.options), summariser

    def preview(self) -> Sequence[str]:
        """Lines that describe the compaction that `compact` would make now, without calling a model."""
        from agentcli.context.room import preview

        return preview(self._builder.window(), self._summariser(self._builder.model.spec).spec)

    def prune(self) -> Sequence[Event]:
        """Clear old outputs now, whatever it costs."""
        from agentcli.context.pruning.plan import Pressure

        body, why = plan_prune(self._builder.window(), Pressure(forced=True))
        return self._cleared(body, why) or [Noticed(why)]

    def undo(self) -> Sequence[Event]:
        """Take back the newest compaction. Raises InputError without one."""
        newest = self._history.compaction
        if newest is None:
            raise InputError("Nothing to undo: this session has not been compacted.")
        if newest.seq == 1:
            raise InputError("Nothing to undo: this session began with a handoff. /resume opens the session before it.")
        return [self._record(Undo(newest.seq, "compaction"))]

    def undo_prune(self) -> Sequence[Event]:
        """Undo the newest prune. Raises InputError if there is none since the last compaction."""
        prunes = self._history.prunes
        newest = next((each for each in reversed(prunes) if isinstance(each.body, Prune) and not each.body.by), None)
        if newest is None and prunes:
            raise InputError(
                "Nothing to undo: the provider cleared these outputs, and does so for each request. "
                "The model can recall them. To clear by price instead: agentcli resume --set context.policy=auto."
            )
        if newest is None:
            raise InputError("Nothing to undo: no output has been cleared since the last compaction.")
        return [self._record(Undo(newest.seq, "prune"))]

    @property
    def _history(self) -> History:
        return self._builder.journal.history

    def _failed_size(self) -> int:
        """Tokens of the view at the last compaction that freed too little, 0 if the last one did not."""
        if self._futile_size is None:
            self._futile_size = _failed_at(self._builder.journal)
        return self._futile_size

    def _learn(self, ended: CompactionEnded) -> None:
        window = self._builder.window()
        enough = ended.tokens_before * (1 - window.settings.min_shrink)
        shrunk = ended.status == "compressed" and ended.tokens_after < enough
        self._futile_size = 0 if shrunk else window.tokens

    def _cleared(self, body: Prune | None, why: str) -> Sequence[Event]:
        return [] if body is None else [self._record(body), Pruned(body.cleared, body.tokens, why)]


def _is_half_full(window: Window) -> bool:
    """Return True if the model may request a compaction."""
    return window.settings.autocompact and window.tokens > window.usable * HALF


def _announcement(tool: Tool) -> str:
    """Return the reminder that announces a tool."""
    takes = ", ".join(tool.takes["properties"])
    return (
        f"Half of the context window is used. From now on you may call the tool {tool.name}({takes}), although it is "
        f"not listed with the others. {tool.schema.description.strip()}"
    )


def _needless(window: Window, history: History) -> str:
    """Return why the model's request is refused; empty if it is not."""
    if not window.settings.autocompact:
        return "The user has switched automatic compaction off."
    if not _is_half_full(window):
        return (
            f"The context is only {window.tokens / window.usable:.0%} full: nothing needs to be summarised below half."
        )
    newest = history.compaction.body if history.compaction is not None else None
    new = window.tokens - newest.tokens_after if isinstance(newest, Compaction) else window.tokens
    if new < window.usable * GROWN:
        return f"The conversation was just compacted: only {max(new, 0):,} tokens are new since then."
    return ""


def _failed_at(journal: Journal) -> int:
    """Tokens in the view when the newest compaction failed, 0 if it did not: a resumed session remembers."""
    newest = next((record.body for record in journal.records_of("compaction", newest_first=True)), None)
    return newest.tokens_before if isinstance(newest, Compaction) and newest.status != "compressed" else 0


def _answered_beyond(window: Window, limit: int) -> bool:
    """Return True if the current model has answered a prompt of more tokens than this."""
    replies = (message for message in window.view.messages if message.model == window.limits.model)
    return any(reply.usage is not None and reply.usage.prompt > limit for reply in replies)


def _too_full(window: Window) -> str:
    tried = window.settings.autocompact
    why = "and nothing more can be removed" if tried else "and auto-compaction is switched off"
    cure = "/handoff continues in a new session." if tried else "/compress summarises it."
    return f"The context has {window.tokens:,} tokens of {window.usable:,} {why}. {cure}"

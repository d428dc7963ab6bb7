"""The open session: the object that front ends hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcli.agent import loop
from agentcli.agent.checkpointing import UndoStack
from agentcli.agent.compaction.compactor import Compactor
from agentcli.agent.conversation import Conversation
from agentcli.agent.core import Child, core_of
from agentcli.agent.ending import receipt_in
from agentcli.agent.feature import due, parts_that_follow, with_state
from agentcli.agent.hooks import Source, reworded
from agentcli.agent.large_input import LargeInput
from agentcli.agent.parts import MakePart, SessionParts, wait_for_background, watching
from agentcli.agent.ports import Prompt
from agentcli.agent.report import SessionReport, assumed, lifetime, lost, unlimited
from agentcli.agent.request_builder import changed_for_turn
from agentcli.agent.setup import RUN_LOCK, SessionSetup, beginning
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Emit, Event, TurnEnded, Warned, emit_all
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.mcp_servers import ServerState
from agentcli.core.message import Message, ToolResult, reminder
from agentcli.core.model import Model
from agentcli.core.record import MODES, USUAL_ACCOUNT, Mode, Pin, Settings, Title, Unpin
from agentcli.core.tasks import emitted, run_beside
from agentcli.core.text.words import one_of
from agentcli.core.tool import Boxed
from agentcli.permissions.unattended import PRIVATE, for_model, for_person
from agentcli.sessions.info import name_of

if TYPE_CHECKING:
    from agentcli.agent.run_lock import RunComparison
    from agentcli.agent.titles import TitleWriter
    from agentcli.agent.warming import Warmer


_STOPPED = "The user interrupted the turn before this message."
"""Text for the model if nothing else shows it."""


class AgentSession:
    """An open session. A turn and a compaction can be interrupted.

    `for_people` are the tools whose results the person wants to read again.
    """

    def __init__(
        self,
        journal: Journal,
        setup: SessionSetup,
        model: Model,
        mode: Mode,
        source: Source | None = None,
        features: Sequence[MakePart] = (),
    ) -> None:
        """`features` are added to the session's own, also for its subagents."""
        self.journal = journal
        self.cwd = setup.workspace.cwd
        self.for_people = frozenset(name for name, traits in setup.tools.traits.items() if traits.behaviour.for_people)
        self._setup = setup
        self.core = core = core_of(journal, setup, model, mode)
        self.parts = own = SessionParts(core, partial(_child, features), features)
        self.notes: Sequence[str] = [
            *lost(journal),
            *setup.run.notes,
            *(note for part in with_state(own.all, journal.history.features) for note in part.notes()),
        ]
        """Notes for the person before the first prompt: lost records, ignored settings."""
        self.prompt_files = own.prompt_files
        background = partial(wait_for_background, own.all) if setup.alone else None
        self.conversation: Conversation = Conversation(core, own.all, own.way, source, background)
        self._large_input = LargeInput(core.builder, setup.person)
        self.undo_stack: UndoStack = UndoStack(journal, core.record, core.checkpointer)
        self.compactor: Compactor = self.conversation.compactor
        self.report = SessionReport(self.conversation, core)
        self.warmer: Warmer | None = None
        """Keeps the cache warm between turns; a front end for a person sets it."""
        self._stopped = False
        """True if the person interrupted the newest turn, and no result of a call tells the model so."""
        self._titles: TitleWriter | None = None
        self._model_warnings: set[str] = set()
        self._comparison: RunComparison | None = None
        """Comparison with the last run, or with a lock; None if there is nothing to compare with."""
        self._comparing: asyncio.Task[Any] | None = None

    @property
    def history(self) -> History:
        """The records in force, folded."""
        return self.journal.history

    @property
    def receipt(self) -> str:
        """The line about the last message's claims; empty if it claims nothing, or a newer message exists."""
        last = self.history.entries[-1].body if self.history.entries else None
        if not isinstance(last, Message) or last.role != "assistant" or last.calls:
            return ""
        return receipt_in(self.core, last.text).line

    def turn(self, prompt: Prompt, interrupt: asyncio.Event, *, continues: bool = False) -> AsyncIterator[Event]:
        """Yield the events of `run`. A reader that leaves ends the turn."""
        return emitted(partial(self.run, prompt, interrupt, continues=continues))

    async def run(self, prompt: Prompt, interrupt: asyncio.Event, emit: Emit, *, continues: bool = False) -> TurnEnded:
        """Answer a prompt, then the prompts with which features continue the work; return the last turn's end.

        That end is the last event, and the only TurnEnded. If it `continues` the previous turn, that turn's limits
        count for both. Raises AgentError if it cannot begin.
        """
        if self.warmer is not None:
            self.warmer.prompted(by_user=prompt.typed)
        with watching(self.parts.all, emit) as emit:
            ended = await self._turn(prompt, interrupt, emit, continues)
            await emit(ended)
            if self.warmer is not None:
                self.warmer.answered()
            return ended

    async def _turn(self, prompt: Prompt, interrupt: asyncio.Event, emit: Emit, continues: bool) -> TurnEnded:
        spending = self.core.spending
        rest = spending.limits.rest(spending.steps, *spending.spent()) if continues else None
        spending.limits = rest or self._setup.run.limits()
        following: Prompt | None = prompt
        while following is not None:
            ended = await self._answer(following, interrupt, emit)
            self._stopped = ended.ending == "interrupted" and not self._ends_with_refused_call()
            spending.end()
            for part in self.parts.all:
                await emit_all(await part.ended(ended), emit)
            following = None
            for part in parts_that_follow(self.parts.all, self.history.features):
                match await part.after_turn(ended, interrupt, emit):
                    case Prompt() as following:
                        spending.limits = spending.limits.rest(spending.steps, *spending.spent())
                        break
                    case TurnEnded() as ended:
                        pass
                    case None:
                        pass
        return ended

    async def _answer(self, prompt: Prompt, interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
        """Answer one prompt."""
        await self.prepare(interrupt)
        self.core.approval.turn_rules = prompt.grants.rules
        await emit_all(self._notices(), emit)
        self._remind([await part.fact() for part in self.parts.all])
        for event in () if prompt.again else await self.conversation.hooked.admit(prompt.text, interrupt):
            if isinstance(event, TurnEnded):
                return event
            await emit(event)
        if not prompt.again and (text := self.conversation.hooked.reworded) is not None:
            prompt = reworded(prompt, text)
        try:
            self._check(prompt)
            prompt = await self.prompt_files.expanded(prompt) if prompt.typed else prompt
        except InputError as error:
            return TurnEnded("failed", error=error)
        if (comparison := self._compared()) is not None:
            await emit_all(comparison.prompted(), emit)
        self.core.approval.turn_rules = prompt.grants.rules
        with changed_for_turn(self.conversation.builder, prompt.grants, self._setup.models.connect) as notices:
            await emit_all(notices, emit)
            prompt, told = await self._large_input.fitted(prompt, interrupt)
            await emit_all(told, emit)
            try:
                return await loop.answer(self.conversation, prompt, interrupt, emit)
            finally:
                self.journal.settle()

    def _check(self, prompt: Prompt) -> None:
        """Check a prompt before it is sent.

        Raises InputError if the session does not match its lock. It is also raised if a file in the prompt must not be
        read.
        """
        lock = self._setup.run.lock
        if lock is not None and not self._setup.person.attended:
            from agentcli.agent.run_lock import lock_of, require_same  # few runs have one

            require_same(lock, lock_of(self.history, self.core.model.name, self.core.approval.mode))
        if prompt.parts:
            from agentcli.agent.unreadable import require_readable  # most prompts have no files

            require_readable(prompt, self.core.approval.rules, self._setup)

    async def prepare(self, interrupt: asyncio.Event) -> None:
        """Wait for connecting servers, and settle the beginning of every request, once for the whole session.

        With a person present it waits only briefly: later servers are reached through the gate. First it asks a model's
        server for the window, which decides how much a request begins with.
        """
        ask_window = getattr(self.conversation.model, "prepare", None)
        if ask_window is not None:
            await ask_window()
        for part in self.parts.all:
            await part.opened(interrupt)
        if self.history.system:
            return
        self.core.record(beginning(self._setup, self.core.model, self.core.approval.mode, self.parts.upfront))
        self.conversation.builder.begin(self.history)

    @property
    def servers(self) -> Sequence[ServerState]:
        """The state of each server."""
        return self._setup.servers.states() if self._setup.servers is not None else ()

    def is_due(self) -> bool:
        """Return True if a prompt is due that begins a turn by itself."""
        return due(self.parts.all) is not None

    def goes_on(self) -> bool:
        """Return True if work in the background or a timer may begin a turn later."""
        return any(part.goes_on() for part in self.parts.all)

    def continues_with(self) -> Sequence[str]:
        """Return the slash commands that continue the work of its features when it is opened elsewhere."""
        return [*filter(None, (part.continues_with() for part in self.parts.all))]

    async def due(self, interrupt: asyncio.Event, show: Callable[[Sequence[Event]], None]) -> str | Prompt | None:
        """Return the due prompt: a text as a person types it, or a prompt for the model.

        `show` gets the events before it.
        """

        async def emit(event: Event) -> None:
            show([event])

        part = due(self.parts.all)
        return await part.due(interrupt, emit) if part is not None else None

    def steer(self, prompt: Prompt) -> None:
        """Add to the running turn at its next safe point. Raises InputError for a file that a deny rule keeps from being read."""
        from agentcli.agent.unreadable import require_readable

        require_readable(prompt, self.core.approval.rules, self._setup)
        prompt, told = self._large_input.in_files(prompt)
        self.conversation.steer(prompt, told)

    def readable_changes(self, diff: str) -> str:
        """Return a diff of the repository without files that deny rules keep from being read."""
        from agentcli.agent.unreadable import readable_changes

        return readable_changes(diff, self.core.approval.rules, self._setup)

    def shared_command(self, command: str, argv: Sequence[str]) -> Boxed:
        """Prepare a person's command whose output the model sees. Raises InputError if deny rules forbid it."""
        from agentcli.agent.unreadable import shared_command

        return shared_command(command, argv, self.core.approval.rules, self.core.approval.mode, self._setup)

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        """Pin the message with this seq, by default the newest prompt. Raises InputError for an unknown one."""
        if seq is None:
            prompts = [
                entry.seq for entry in self.history.entries if isinstance(entry.body, Message) and entry.body.is_prompt
            ]
            seq = prompts[-1] if prompts else 0
        record = self.journal.record(seq)
        if record is None or not isinstance(record.body, Message | ToolResult):
            raise InputError(f"No message {seq}. /context all lists them with their numbers.")
        return [self.core.record(Unpin(seq) if unpin else Pin(seq))]

    def switch(self, *, model: str = "", mode: str = "", account: str = "") -> Sequence[Event]:
        """Change settings from now on. Raises AgentError for an unknown name, with similar ones."""
        if account:
            accounts = self._setup.models.accounts()
            former = ",".join(accounts.order) or USUAL_ACCOUNT
            accounts.use(account)
            try:
                return [*self.conversation.follow_account(tell=False)]
            except AgentError:
                accounts.use(former)
                raise
        if mode and mode not in MODES:
            raise InputError(f"Unknown mode {mode!r}.{one_of(mode, MODES)}")
        if model:
            self.conversation.builder.model = self._setup.models.connect(model)
            model = self.core.model.name
        if mode:
            self.core.approval.mode = mode
        ends = lifetime(self.core.model, self._setup.today().isoformat()) if model else ""
        return [self.core.record(Settings(model, mode)), *([Warned(ends)] if ends else [])]

    def rename(self, name: str) -> Sequence[Event]:
        """Give the session a name that `resume` accepts. Raises InputError for one that is not safe to show."""
        return [self.core.record(Title(name=name_of(name)))]

    async def improve_title(self) -> Sequence[Event]:
        """Have the cheap model write a title once the session has content; call it while idle.

        Does nothing if titles are off, there is one already, or a budget is used up.
        """
        if any(budget.used(spent) >= 1 for budget, spent in self.report.budgets()):
            return []
        if self._titles is None:
            from agentcli.agent.titles import TitleWriter  # runs without a terminal write none

            self._titles = TitleWriter(self._setup.models.summariser, self._setup.settings.agent.titles)
        written = await self._titles.write(self.history, self.core.model, self.conversation.builder.window().tokens)
        if written is None:
            return []
        title, spent = written
        return [self.core.record(title), *spent] if title.title or spent else []

    def begin(self, show: Callable[[Sequence[Event]], None]) -> None:
        """Run the hooks of the session's start now, before the first prompt, and compare with the last run.

        `show` gets the messages of both.
        """
        self.conversation.hooked.open(show)
        if (comparison := self._compared(begins=True)) is not None and self._comparing is None:
            self._comparing = run_beside(comparison.opened(show))

    def _compared(self, begins: bool = False) -> RunComparison | None:
        """Return the comparison, if there is a lock, or if the opened session has made a request."""
        wanted = (
            self._setup.run.lock is not None or RUN_LOCK in self.history.features or (begins and self.history.system)
        )
        if wanted and self._comparison is None:
            from agentcli.agent.run_lock import RunComparison  # few sessions are resumed

            self._comparison = RunComparison(self.core)
        return self._comparison

    def go_on_from(self, former: AgentSession) -> None:
        """Take over reminders that were prepared but not sent when the same session was open before."""
        self.conversation.pending += former.conversation.pending
        self.conversation.hooked.go_on_from(former.conversation.hooked)
        self.core.hooks.go_on_from(former.core.hooks)

    async def end(self, reason: str) -> None:
        """Run the hooks of the session's end, then close it."""
        await self.conversation.hooked.close()
        await self.core.hooks.session_end(reason)
        self.close()

    def close(self) -> None:
        """Save unsaved records and let others open the session. Its background jobs end."""
        if self._comparing is not None:
            self._comparing.cancel()
        self.core.hooks.close()
        if self.warmer is not None:
            self.warmer.record()
        for part in self.parts.all:
            part.closed()
        self.journal.close()

    def _notices(self) -> Iterator[Event]:
        """Yield notices for the person before a turn; a subagent repeats no warning of its parents."""
        parent = self._setup.parent
        for notice in self._own_notices():
            if isinstance(notice, Warned):
                if parent.depth and notice.message in parent.told:
                    continue
                parent.told.add(notice.message)
            yield notice

    def _own_notices(self) -> Iterator[Event]:
        """Yield the notices of features, and once each the notices of an unattended run and of an unknown model."""
        for part in self.parts.all:
            yield from part.notices()
        denies = "" if self._setup.parent.depth else _unattended(self._setup, for_person, self.core.approval.mode)
        warnings = [*filter(None, [denies, "" if self.core.model.known else assumed(self.core.model)])]
        if self.core.model.prices is None and (
            self.core.spending.limits.cost is not None or any(budget.cost for budget, _ in self.report.budgets())
        ):
            warnings.append(unlimited(self.core.model))
        for warning in warnings:
            if warning not in self._model_warnings:
                self._model_warnings.add(warning)
                yield Warned(warning)

    def _remind(self, facts: Sequence[str]) -> None:
        """Add the reminders that are due to the next prompt."""
        unattended = _unattended(self._setup, for_model, self.core.approval.mode)
        workspace, boxed = self._setup.workspace, self.core.approval.in_one_sandbox
        if boxed and workspace.tmp is not None:
            facts = (*facts, PRIVATE)
        if added := workspace.added():
            facts = (*facts, f"Also in the workspace: {', '.join(map(str, added))}")
        listings = "\n".join(filter(None, [part.listing() for part in self.parts.all]))
        self.conversation.pending += self.conversation.reminders.due(
            self.core.approval.mode, self._setup.today(), unattended, facts, listings, boxed and workspace.sandboxed
        )
        for news in (_STOPPED * self._stopped, self.undo_stack.news()):
            self.conversation.pending += (reminder(news),) if news else ()
        self._stopped = False

    def _ends_with_refused_call(self) -> bool:
        last = self.history.entries[-1].body if self.history.entries else None
        return isinstance(last, ToolResult) and last.status in ("interrupted", "denied")


def _child(features: Sequence[MakePart], journal: Journal, setup: SessionSetup, model: Model, mode: Mode) -> Child:
    """Open the session of a subagent."""
    session = AgentSession(journal, setup, model, mode, features=features)
    return Child(session.core, session.prompt_files, session.run, session.close)


def _unattended(setup: SessionSetup, text: Callable[..., str], mode: Mode) -> str:
    """Return the text about the calls that this run denies because nobody can allow them; empty with a person."""
    if setup.person.attended:
        return ""
    timed = setup.permissions.run
    allows = bool(setup.permissions.rules.allow or (timed is not None and timed.rules))
    workspace = setup.workspace
    return text(mode, sandboxed=workspace.sandboxed, gated=workspace.gated, rules=allows)

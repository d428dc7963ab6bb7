"""The open session: the object that front ends hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from agentcli.agent import loop
from agentcli.agent.checkpointing import UndoStack
from agentcli.agent.conversation import Conversation
from agentcli.agent.delegation.subagents import Subagents
from agentcli.agent.delegation.unfinished import Unfinished, interruption_notices, reminder
from agentcli.agent.extensions.server_tools import CATALOGUE_SHARE
from agentcli.agent.extensions.session import SessionExtensions
from agentcli.agent.extensions.turn import changed_for_turn
from agentcli.agent.fallback import FallbackModel
from agentcli.agent.hooks.outcome import Source
from agentcli.agent.pages import PageReader
from agentcli.agent.ports import Prompt
from agentcli.agent.report import SessionReport, assumed, lifetime, lost, unlimited
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import SessionSetup, beginning, changed_beginning, changed_instructions
from agentcli.agent.spending import BudgetGuard
from agentcli.agent.streams import until_interrupted
from agentcli.agent.titles import TitleWriter
from agentcli.agent.tool_runner import ToolRunner
from agentcli.context.settings import PolicyName
from agentcli.context.tokens.counter import TokenCounter
from agentcli.core.errors import InputError
from agentcli.core.event import Event, Noticed, TurnEnded, Warned
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolResult
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.record import MODES, Mode, Pin, Settings, Title, Unpin
from agentcli.core.servers import Servers, ServerState
from agentcli.core.tool import Tool
from agentcli.permissions.rules import Rules
from agentcli.permissions.unattended import for_model, for_person
from agentcli.sessions.info import name_of


class AgentSession:
    """A session that is open for work. A turn and a compaction can be interrupted.

    `for_people` are the tools whose results the person wants to read again.
    """

    def __init__(
        self, journal: Journal, setup: SessionSetup, model: Model, mode: Mode, source: Source | None = None
    ) -> None:
        self.journal = journal
        self.cwd = setup.workspace.cwd
        self.for_people = frozenset(name for name, traits in setup.traits.items() if traits.for_people)
        self.tools: Sequence[Tool] = setup.tools
        self.sandbox = setup.sandbox
        self.instructions = setup.reread()
        """The instruction files in force."""
        self.notes: Sequence[str] = [*lost(journal), *setup.notes, *filter(None, [setup.unattended(for_person, mode)])]
        """Notes for the person before the first prompt: records that were lost, settings that are ignored."""
        self._setup = setup
        self._opened_at = journal.history.last_seq
        self._runner = ToolRunner(
            journal,
            setup,
            mode,
            self._leave_plan,
            lambda *call: self._subagents.delegate(*call),
            lambda *asked: self._pages.answer(*asked),
            lambda *asked: self.extensions.open_skill(*asked),
            lambda: self.model,
        )
        self._subagents: Subagents = Subagents(
            setup, self._runner, lambda: self.conversation, AgentSession, lambda: self.extensions
        )
        self.extensions: SessionExtensions = SessionExtensions(
            setup, self._runner, lambda: self.conversation, self._subagents.delegate
        )
        self._pages: PageReader = PageReader(
            lambda: setup.summariser(self.model),
            lambda spec, tokens: self.conversation.objection(spec, tokens),
            self._runner.ctx.printed.add,
            setup.limits.fetch_answer_seconds,
        )
        self.jobs = self._runner.jobs
        self.hooks = self._runner.hooks
        self.buffers = self._runner.buffers
        self.undo_stack = UndoStack(journal, self._runner.record, self._runner.checkpointer)
        self.conversation: Conversation = self._conversation(model, mode)
        self.conversation.hooked.source = source or self.conversation.hooked.source
        self.compactor = self.conversation.compactor
        if setup.depth or setup.one_turn or not setup.attended:
            self.conversation.background = self._subagents.wait_for_background
        self.report = SessionReport(self.conversation, self.jobs, setup.sandbox, self._opened_at)
        self._titles = TitleWriter(setup.summariser, setup.agent.titles)
        self._model_warnings: set[str] = set()
        self._interruptions_reported = False

    @property
    def history(self) -> History:
        """The records in force, folded."""
        return self.journal.history

    @property
    def model(self) -> ModelSpec:
        """The model in use."""
        return self.conversation.model.spec

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self._runner.approval.mode

    @property
    def rules(self) -> Rules:
        """The permission rules in force, those of the session included."""
        return self._runner.approval.rules

    async def turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """The user says something; the model works until it is done. Ends with exactly one TurnEnded."""
        await self.prepare(interrupt)
        self.conversation.run_limits = self._setup.run_limits()
        self.extensions.grant(prompt.grants)
        for notice in self._notices():
            yield notice
        self._remind(await self.extensions.refresh())
        admitted = await self.conversation.hooked.admit(prompt.text, interrupt)
        for event in admitted:
            yield event
        if admitted and isinstance(admitted[-1], TurnEnded):
            return
        try:
            prompt = await self.extensions.expanded(prompt) if prompt.typed else prompt
        except InputError as error:
            yield TurnEnded("failed", error=error)
            return
        self.extensions.grant(prompt.grants)
        with changed_for_turn(self.conversation.builder, prompt.grants, self._setup.connect) as notices:
            for notice in notices:
                yield notice
            try:
                async for event in loop.turn(self.conversation, self.conversation.builder.fitting(prompt), interrupt):
                    yield event
            finally:
                self.journal.settle()

    async def prepare(self, interrupt: asyncio.Event) -> None:
        """Wait for servers that are being connected, and settle what each request begins with, once for the whole session.

        With a person there it waits a moment only: servers that come later are reached through the gate. A model's server is asked for the
        window before, which decides how much a request begins with.
        """
        ask_window = getattr(self.conversation.model, "prepare", None)
        if ask_window is not None:
            await ask_window()
        setup, servers = self._setup, self._setup.servers
        seconds = setup.mcp.wait if setup.attended else None
        if servers is not None and (not self.history.system or not setup.attended):
            await until_interrupted(interrupt, servers.settle(seconds))
        if self.history.system:
            return
        room = 0 if setup.agent.is_small(self.model.window) else setup.mcp.upfront_tokens
        upfront = self._runner.server_tools.upfront(room)
        self._runner.record(beginning(setup, self.model, self.mode, upfront))
        self.conversation.builder.begin(self.history)

    @property
    def server_pool(self) -> Servers | None:
        """The servers of the run; None where none is configured."""
        return self._setup.servers

    @property
    def servers(self) -> Sequence[ServerState]:
        """The state of each server."""
        return self._setup.servers.states() if self._setup.servers is not None else ()

    def steer(self, prompt: Prompt) -> None:
        """Add to the running turn at its next safe point."""
        self.conversation.steer(self.conversation.builder.fitting(prompt))

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        """Pin the message with this seq, by default the newest prompt. Raises InputError for one that does not exist."""
        if seq is None:
            prompts = [
                entry.seq for entry in self.history.entries if isinstance(entry.body, Message) and entry.body.is_prompt
            ]
            seq = prompts[-1] if prompts else 0
        record = self.journal.record(seq)
        if record is None or not isinstance(record.body, Message | ToolResult):
            raise InputError(f"There is no message {seq}. /context all lists them with their numbers.")
        return [self._runner.record(Unpin(seq) if unpin else Pin(seq))]

    async def _leave_plan(self, plan: str) -> bool:
        """The person approved the plan: go on in the mode that was chosen with it. False outside of plan mode."""
        if self.mode != "plan":
            return False
        self.switch(mode=self._runner.approval.after_plan)
        return True

    def switch(self, *, model: str = "", mode: str = "") -> Sequence[Event]:
        """Change settings from now on. Raises AgentError for a name that is not known, naming the near ones."""
        if mode and mode not in MODES:
            raise InputError(f"There is no mode {mode!r}. Use one of: {', '.join(MODES)}.")
        if model:
            self.conversation.builder.model = self._setup.connect(model)
            model = self.model.name
        if mode:
            self._runner.approval.mode = mode
        ends = lifetime(self.model, self._setup.today().isoformat()) if model else ""
        return [self._runner.record(Settings(model, mode)), *([Warned(ends)] if ends else [])]

    @property
    def effort(self) -> str:
        """The thinking effort from the next request on; empty for the model's default."""
        return self.conversation.builder.effort

    @effort.setter
    def effort(self, effort: str) -> None:
        self.conversation.builder.effort = effort

    def rename(self, name: str) -> Sequence[Event]:
        """Give the session a name that `resume` takes. Raises InputError for one that cannot be shown as it is."""
        return [self._runner.record(Title(name=name_of(name)))]

    async def improve_title(self) -> Sequence[Event]:
        """Have the cheap model write a title once the session has content; call it while idle.

        Nothing if titles are switched off, there is one already, or a budget is used up.
        """
        if any(budget.used(spent) >= 1 for budget, spent in self.report.budgets()):
            return []
        written = await self._titles.write(self.history, self.model, self.conversation.builder.window().tokens)
        if written is None:
            return []
        title, spent = written
        return [self._runner.record(title), *spent] if title.title or spent else []

    def reread_instructions(self) -> None:
        """Read the instruction files again; the next prompt tells the model of what has changed."""
        self.instructions = self._setup.reread()

    @property
    def source(self) -> Source:
        """The way in which the session began, for hooks."""
        return self.conversation.hooked.source

    def begin(self, show: Callable[[Sequence[Event]], None]) -> None:
        """Run the hooks of the session's start now, not with the first prompt; `show` gets their messages."""
        self.conversation.hooked.open(show)

    def go_on_from(self, former: AgentSession) -> None:
        """Take over what the same session has begun and not sent yet, from when it was open before."""
        self.conversation.pending += former.conversation.pending
        self.conversation.hooked.go_on_from(former.conversation.hooked)
        self.hooks.go_on_from(former.hooks)

    async def end(self, reason: str) -> None:
        """Run the hooks of the session's end, then close it."""
        await self.conversation.hooked.close()
        await self.hooks.session_end(reason)
        self.close()

    def close(self) -> None:
        """Save what is unsaved and let others open the session. Its background jobs end."""
        self.jobs.abandon()
        self.hooks.close()
        self.journal.close()

    def _notices(self) -> Iterator[Event]:
        """Notices for the person before a turn: of servers, interrupted subagents and an unknown model, each once."""
        yield from map(Warned, self._runner.server_tools.warnings())
        if not self._interruptions_reported:
            self._interruptions_reported = True
            yield from map(Noticed, interruption_notices(self._interrupted))
        limited = self.conversation.run_limits.cost is not None or any(
            budget.cost for budget, _ in self.report.budgets()
        )
        for warning in (assumed(self.model), unlimited(self.model) if limited else ""):
            if warning and warning not in self._model_warnings:
                self._model_warnings.add(warning)
                yield Warned(warning)

    def _remind(self, changed_extensions: str) -> None:
        """Add the reminders that are due to the next prompt."""
        setup = self._setup
        changed = changed_instructions(self.instructions.text, self.history.system)
        room = min(setup.mcp.catalogue_tokens, int(self.model.window * CATALOGUE_SHARE))
        self.conversation.pending += self.conversation.reminders.due(
            self.mode,
            setup.today(),
            setup.unattended(for_model, self.mode),
            (changed, changed_extensions, reminder(self._interrupted)),
            self._runner.server_tools.catalogue(room),
        )

    @property
    def _interrupted(self) -> Sequence[Unfinished]:
        """The subagents that were at work when the program ended; none in a session that began in this process."""
        return self._subagents.unfinished if self._opened_at else ()

    def _conversation(self, model: Model, mode: Mode) -> Conversation:
        setup = self._setup
        policy = setup.policy or self.history.policy or setup.context.policy
        for body in changed_beginning(setup, self.journal, model.spec, mode):
            self._runner.record(body)
        born = self.history if self.history.system else beginning(setup, model.spec, mode)
        builder = RequestBuilder(
            self.journal,
            model,
            born.system,
            tuple(map(ToolSchema.recorded, born.tools)),
            TokenCounter(setup.estimator(policy)),
            replace(setup.context, policy=cast(PolicyName, policy)),
            setup.agent,
            setup.traits,
            strict=setup.strict,
        )
        return Conversation(
            builder,
            self._runner,
            setup.agent,
            BudgetGuard(setup.budget, setup.approve, setup.above),
            setup.run_limits(),
            setup.summariser,
            FallbackModel(setup.agent.fallback_model, setup.connect),
            lambda: [*self._runner.news(), *self.extensions.touched()],
        )

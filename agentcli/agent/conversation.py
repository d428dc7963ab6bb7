"""State that a turn advances: messages go into the session's records, requests are built from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import date

from agentcli.agent.calls.execute import NOT_RUN, CallStages
from agentcli.agent.compaction.compactor import Compactor
from agentcli.agent.core import SessionCore
from agentcli.agent.fallback import FallbackModel
from agentcli.agent.feature import SessionPart, Unfinished, objection, with_state
from agentcli.agent.hooks import Source, TurnHooks
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import BEGINS, ReplyBuilder
from agentcli.agent.spending import RUNNING_LOW, tier_unpriced
from agentcli.agent.tool_context import offer
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError, LimitReached, ModelError
from agentcli.core.event import Emit, Event, Noticed, Recorded, UsageReported, Waiting, Warned, emit_all
from agentcli.core.journal import Journal
from agentcli.core.message import File, Message, Part, Text, ToolResult, reminder
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import USUAL_ACCOUNT, Body, Failure, Mode, Prune, Retry, Settings
from agentcli.core.tasks import until_interrupted
from agentcli.tools.compress import Compressing

MODE_WORDS: Mapping[Mode, str] = {
    "ask": "Edits and commands are put to the user from now on before they run.",
    "auto-edit": "Edits inside the workspace run without asking from now on; commands are still put to the user.",
    "plan": (
        "Plan mode is on: read and search only, change nothing. Work out a plan and present it with the exit_plan tool, "
        "or as your answer where there is none; the user decides whether to carry it out."
    ),
    "yolo": (
        "Calls run without asking from now on, unless a rule of the user forbids them; the user is asked about commands that need root's "
        "powers, or remove or overwrite files outside the workspace."
    ),
    "auto": (
        "Commands that the sandbox can hold, and edits inside the workspace, run without asking from now on; the user is asked about "
        "what uses the network, leads outside the workspace, touches protected files or cannot be undone."
    ),
}
"""Reminders for the model when the mode changes."""
BOXED_WORDS: Mapping[Mode, str] = {
    "ask": "Edits, and commands that the sandbox can't hold, are put to the user from now on before they run.",
    "auto-edit": (
        "Edits inside the workspace, and commands that the sandbox can hold, run without asking from now on; other "
        "commands are still put to the user."
    ),
}
"""The same with a rule that lets every command run in the sandbox."""


_KIND = len("Today is ")
"""Reminders that share this many first characters are of one kind: the newest of a kind counts."""


class Conversation:
    """The session that a turn works on. Everything lasting goes through `record`; everything sent through `builder`."""

    def __init__(
        self,
        core: SessionCore,
        parts: Sequence[SessionPart],
        way: CallStages,
        source: Source | None,
        background: Callable[[], Awaitable[bool]] | None,
    ) -> None:
        """Begin a conversation.

        `background` waits for background work before a turn ends; None if a later turn reports it. `source` is how the
        session began, if its records do not show it.
        """
        setup = core.setup
        self.core = core
        self.journal = core.journal
        self.builder = core.builder
        self.stages = way
        self.settings = setup.settings.agent
        self.guard = core.guard
        self.spending = core.spending
        self._parts = parts
        self._background = background
        self.fallback = FallbackModel(setup.settings.agent.fallback_model, setup.models.connect)
        self.compactor = Compactor(
            core.builder,
            core.record,
            self.objection,
            setup.models.summariser,
            core.hooks,
            self.fallback,
            str(core.ctx.cwd),
            [tool for tool in setup.tools.offered if tool.traits.behaviour.announced],
        )
        core.ctx.add([offer(Compressing, Compressing(self.compactor.ask))])
        self._models = setup.models
        self.pending: list[Part] = []
        self.hooked = TurnHooks(core.journal, core.hooks, core.jobs, core.record, self.pending, source)
        self.reminders = Reminders(self.journal)
        self._steering: list[Prompt] = []
        self._told_steering: list[Event] = []
        self._trouble = ""
        self._told: set[str] = set()

    @property
    def model(self) -> Model:
        """The model in use."""
        return self.builder.model

    @property
    def steps(self) -> int:
        """Requests of this turn so far."""
        return self.spending.steps

    @property
    def steered(self) -> bool:
        """True if the user has added a prompt that the model has not seen."""
        return bool(self._steering)

    async def waited_for_background(self, interrupt: asyncio.Event) -> bool:
        """Wait for background work that no later turn would report; return True if it has news for the model."""
        if self._background is None or interrupt.is_set():
            return False
        return bool(await until_interrupted(interrupt, self._background()))

    def record(self, body: Body) -> Recorded:
        """Save a record. It is durable on return; if the disk fails, `news` reports it."""
        return self.core.record(body)

    def begin(self, prompt: Prompt) -> Iterator[Event]:
        """Record the prompt before anything else happens with it."""
        self.core.printed.ended = ""
        self.hooked.begin()
        self.compactor.new_turn()
        self.guard.new_task()
        self.spending.begin()
        if (accounts := self._models.accounts.now) is not None:
            accounts.begin_turn()
        turn = self.journal.history.turn + 1
        yield from self.answer_open_calls()
        if not (prompt.again and self._waits_for_reply()):
            yield self._record_prompt(prompt, turn)
        yield from self.news()

    def steer(self, prompt: Prompt, told: Sequence[Event] = ()) -> None:
        """Add a prompt before the running turn's next request, which tells the person about it."""
        self._steering.append(prompt)
        self._told_steering += told

    def withdraw(self) -> Sequence[Prompt]:
        """Remove and return the added prompts that the model has not seen."""
        prompts, self._steering = self._steering, []
        return prompts

    async def take_steering(self, interrupt: asyncio.Event, emit: Emit) -> None:
        """Record the added prompts that no hook blocks, and notices of outside events for the model."""
        prompts, self._steering = self._steering, []
        kept, events = await self.hooked.steering(prompts, interrupt)
        self._steering = [*kept, *self._steering]
        told, self._told_steering = self._told_steering, []
        await emit_all((*told, *events), emit)
        for text in [*(news for part in self._parts for news in part.news()), *self.compactor.news()]:
            await emit(self.remind(text))
        while self._steering:
            await emit(self._record_prompt(self._steering.pop(0), self.journal.history.turn))

    def remind(self, text: str) -> Event:
        """Record a reminder for the model."""
        return self.record(Message("user", (reminder(text),), self.journal.history.turn))

    def allow_step(self) -> None:
        """Count one more request of this turn. Raises LimitReached before a request that a limit forbids."""
        self._check_step()
        self.spending.steps += 1

    def _check_step(self) -> None:
        usage, cost = self.spending.spent()
        self.spending.limits.check(self.steps, usage, cost)
        if 0 < self.settings.max_steps <= self.steps:
            raise LimitReached(
                f"The turn reached {self.steps} steps (agent.max_steps). Type “continue” to continue, or raise the limit."
            )

    def may_step(self) -> bool:
        """Return True if no limit forbids one more request of this turn."""
        try:
            self._check_step()
        except LimitReached:
            return False
        return True

    def allow_again(self) -> None:
        """Raise LimitReached if tokens, cost or time forbid another request for this reply."""
        self.spending.limits.check(0, *self.spending.spent())

    async def make_room(self, interrupt: asyncio.Event, emit: Emit) -> None:
        """Prune and compact as the policy requires before the next request; the current account pays for it."""
        await emit_all(self.follow_account(), emit)
        self.builder.recount()
        for part in self._parts:
            for text in await part.asides():
                await emit(self.remind(text))
            await emit_all(part.before_request(), emit)
        await self.compactor.make_room(interrupt, emit, boundary=self.steps == 1)
        await emit_all(await self.hooked.compacted(interrupt), emit)
        await emit_all(self.news(), emit)

    def answered(self) -> None:
        """Let features judge the results of a reply's calls. Raises AgentError if the turn leads nowhere."""
        if not self._steering:
            for part in self._parts:
                part.answered()

    def unfinished(self, reply: ReplyBuilder) -> Unfinished:
        """Return a feature's objection to the end of the turn.

        If no step is left, return only an objection that the limit must stop.
        """
        found = objection(self._parts, reply)
        if found.undone and any(part.decides() for part in with_state(self._parts, self.journal.history.features)):
            return Unfinished(verified=found.verified, answer=found.answer)
        return found if found.undone or self.may_step() else Unfinished(verified=found.verified, answer=found.answer)

    def finish(self) -> Iterator[Event]:
        """Apply the pruning that the policy requires after an answered prompt."""
        yield from self.compactor.after_turn()
        yield from self.news()

    async def overflow(self, interrupt: asyncio.Event, emit: Emit) -> None:
        """Compact because the provider refused the prompt as too long."""
        await self.compactor.compact(interrupt, emit, "overflow")

    async def hold_back(self, interrupt: asyncio.Event, emit: Emit) -> None:
        """Check the budgets for the next request, and wait if one runs low.

        Raises LimitReached if it may not be made.
        """
        session, task = self.spending.totals()
        running_low = self.guard.reminder(session, task)
        if running_low:
            await emit(self.remind(running_low))
        window, spec = self.builder.window(), self.model.spec
        size, edited = window.tokens, window.view.foreseen is not None
        price = spec.cost(self.builder.cache.expected(size, spec.cache_lifetime, edited=edited)) or 0.0
        delay = await self.guard.pay(session, task, size, price, emit)
        if delay:
            await emit(self.record(Retry(0, delay, RUNNING_LOW)))
            await emit(Waiting(delay, RUNNING_LOW))
            await until_interrupted(interrupt, asyncio.sleep(delay))

    async def objection(self, other: ModelSpec, tokens: int | None = None) -> str:
        """Return why the budgets forbid sending this session, or `tokens` tokens, to another model; empty if they allow
        it.
        """
        size = self.builder.window().tokens if tokens is None else tokens
        return await self.core.objection(other, size)

    def another_account(self, error: ModelError) -> bool:
        """Return True if another account takes over after this error."""
        accounts = self._models.accounts.now
        return accounts is not None and accounts.passes_on(error, self.model.spec.provider)

    def can_fall_back(self, error: ModelError) -> bool:
        """Return True if another account or the fallback model can take over after this error."""
        return self.another_account(error) or self.fallback.instead_of(self.model.spec, error) is not None

    def follow_account(self, why: str = "", *, tell: bool = True) -> Iterator[Event]:
        """Connect with the current account and record it, if it differs from the session's: a subagent may have changed
        it.

        `why` is set if the change was not requested; without it a notice reports the change, unless suppressed.
        """
        accounts, recorded = self._models.accounts.now, self.journal.history.account
        if accounts is None or (accounts.current or USUAL_ACCOUNT) == (recorded or USUAL_ACCOUNT):
            return
        self.builder.model = self._models.connect(self.model.spec.name)
        yield self.record(Settings(account=accounts.current or USUAL_ACCOUNT, why=why))
        if tell and not why:
            yield Noticed(f"This session continues with the account {accounts.current or USUAL_ACCOUNT}.")

    def fall_back(self, error: ModelError) -> Iterator[Event]:
        """Continue with the next account, or with the fallback model, and report it.

        Thoughts of another model are not sent to it.
        """
        if self.another_account(error):
            account = self._models.accounts().move_on(self.model.spec.provider)
            why = f"{error} The session continues with the account {account}."
            yield from self.follow_account(why)
            yield Noticed(why)
            return
        former = self.model.spec.name
        self.builder.model = self.fallback.instead_of(self.model.spec, error) or self.model
        self.builder.recount()
        now = self.model.spec.name
        why = f"{error} The session continues with {now} (agent.fallback_model); /model {former} goes back."
        yield self.record(Settings(now, why=why))
        yield Noticed(why)

    def drop_thinking(self, why: str) -> Event:
        """Omit all thinking so far, because the provider no longer accepts it."""
        history = self.journal.history
        return self.record(Prune((), 0, f"thinking dropped: {why}", drop_thinking_before=history.last_seq + 1))

    def named(self, reply: ReplyBuilder) -> ReplyBuilder:
        """Return a reply whose calls have our tool names; calls written as text become calls."""
        if reply.has_calls:
            return replace(reply, parts=self.stages.prepare.named(reply.parts))
        if not any(mark in reply.text for mark in BEGINS) or reply.stop not in (
            "end_turn",
            "stop_sequence",
            "tool_use",
        ):
            return reply
        parts = self.stages.prepare.with_written(reply.so_far(), self._task())
        return replace(reply, parts=parts, tail=(), stop="tool_use") if parts is not None else reply

    def _task(self) -> str:
        """Return what the person said last."""
        said = (entry.body for entry in reversed(self.journal.history.entries))
        return next((body.text for body in said if isinstance(body, Message) and body.role == "user" and body.text), "")

    def received(self, reply: ReplyBuilder, failure: AgentError | None) -> Iterator[Event]:
        """Record a reply, or the part that arrived. An empty one is not stored, but its cost is."""
        turn, spec = self.journal.history.turn, self.model.spec
        reply = self.named(reply)
        for part in self._parts:
            yield from part.replied(reply)
        if not reply.empty:
            yield self.record(reply.message(turn, spec, error=str(failure) if failure else ""))
        elif reply.usage is not None:
            why = f"The reply was empty ({reply.stop or 'cut'})."
            yield self.record(Failure(why, spec.name, reply.usage, spec.cost(reply.usage)))
        if reply.usage is not None:
            self.builder.recount()
            self.builder.cache.note_usage(reply.usage)
            yield UsageReported(reply.usage, spec.cost(reply.usage), reply.usage.total)
            if (unpriced := tier_unpriced(spec, reply.usage.tier)) and unpriced not in self._told:
                self._told.add(unpriced)
                yield Warned(unpriced)
            health = self.builder.cache.health
            if health.in_a_row == health.thrash:
                yield Warned(health.warning())
        yield from self.news()

    def cut_off(self, reply: ReplyBuilder) -> Iterator[Event]:
        """Record the cost of a reply that broke off and is requested again."""
        if reply.usage is not None:
            spec = self.model.spec
            cost = spec.cost(reply.usage)
            yield self.record(Failure("The reply was cut off; it was asked for again.", spec.name, reply.usage, cost))
            yield UsageReported(reply.usage, cost, reply.usage.total)

    def failed(self, error: AgentError) -> Event:
        """Record that a turn failed."""
        return self.record(Failure(str(error), self.model.spec.name))

    def answer_open_calls(self, why: str = NOT_RUN) -> Iterator[Event]:
        """Record a result for each call that will not run: every call has exactly one."""
        for call in self.journal.history.open_calls:
            yield self.record(self.stages.unrun(call, why))

    def news(self) -> Iterator[Event]:
        """Warnings about failed saves, and a notice once saving works again."""
        trouble = self.journal.trouble()
        if trouble and trouble != self._trouble:
            yield Warned(trouble)
        if self._trouble and not trouble:
            yield Noticed("The session is being saved again.")
        self._trouble = trouble

    def _waits_for_reply(self) -> bool:
        """Return True if the history ends with a message of the user or a result."""
        entries = self.journal.history.entries
        last = entries[-1].body if entries else None
        return isinstance(last, ToolResult) or (isinstance(last, Message) and last.role == "user")

    def _record_prompt(self, prompt: Prompt, turn: int) -> Event:
        parts = prompt.parts or (Text(prompt.text),)
        injected = tuple(self.pending)
        self.pending.clear()
        message = Message("user", (*injected, *parts), turn)
        if any(isinstance(part, File) for part in parts):
            self.core.seen.add(message)
        for part in self._parts:
            part.prompted()
        return self.record(message)


class Reminders:
    """Reminders of changing facts.

    They are sent with the next prompt, never in the system text, which must stay the same bytes.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._announced: Mode = "ask"
        self._unattended = ""
        self._servers = False

    def due(
        self,
        mode: Mode,
        today: date,
        unattended: str = "",
        facts: Sequence[str] = (),
        servers: str = "",
        boxed: bool = False,
    ) -> Sequence[Part]:
        """Return the reminders to send with the next prompt.

        The date and these `facts` are repeated if the view no longer has them. Facts are changed instruction files, new
        skills or interrupted subagents. `unattended` is the reminder of a run without a person. It is given once. The
        list of `servers` is given once while the view has it: changes are reported as they happen. `boxed` is true if
        commands that the sandbox can hold run unasked.
        """
        due: list[Part] = []
        for fact in (f"Today is {today.isoformat()}.", *facts):
            if fact and self._newest(fact) != fact:
                due.append(reminder(fact))
        newest = self._newest(servers) if servers else ""
        if servers and (not newest or (newest != servers and not self._servers)):
            due.append(reminder(servers))
        self._servers = True
        if mode != self._announced:
            # Without a person the line about calls that nobody can allow covers everything, except what a plan is.
            words = {**MODE_WORDS, **(BOXED_WORDS if boxed else {})}[mode]
            due += [reminder(words)] if not unattended or mode == "plan" else []
            self._announced = mode
        if unattended and unattended != self._unattended:
            due.append(reminder(unattended))
            self._unattended = unattended
        return due

    def _newest(self, fact: str) -> str:
        """Return the newest reminder in the view with the same beginning; empty if there is none."""
        beginning = fact[:_KIND]
        for entry in reversed(self._journal.history.entries):
            for part in entry.body.parts if isinstance(entry.body, Message) and entry.body.role == "user" else ():
                if isinstance(part, Text) and part.synthetic and part.text.startswith(beginning):
                    return part.text
        return ""

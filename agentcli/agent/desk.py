"""One open session with everything that can be done to it: what front ends hold in their hands."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, cast

from agentcli.agent import loop, rewound, titling
from agentcli.agent.allowance import Allowance
from agentcli.agent.cover import Cover, Makes
from agentcli.agent.execute import Kit, Permit, RunTool
from agentcli.agent.hooks import Hooks
from agentcli.agent.permissions import Place, Rules
from agentcli.agent.permit import Gate, Repeats
from agentcli.agent.ports import Approve, AskUser, Glance, Prompt, Window
from agentcli.agent.purse import Purse
from agentcli.agent.reports import acts, cache_lines, changes, cost_lines, job_lines
from agentcli.agent.room import Room
from agentcli.agent.settings import AgentSettings, HookSettings
from agentcli.agent.talk import Manner, Talk
from agentcli.agent.workplace import SessionWorkplace
from agentcli.context.budget import Spent
from agentcli.context.lab.shown import show
from agentcli.context.limits import limits_of
from agentcli.context.marks import prunes_from
from agentcli.context.oversize import is_oversize, reference, size_of
from agentcli.context.policies import plan
from agentcli.context.settings import POLICIES, BudgetSettings, ContextSettings, PolicyName
from agentcli.context.tokens import Counts
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event, Noticed, Recorded
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import File, Message, Part, Text, ToolCall, ToolResult
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.record import MODES, Body, Mode, Pin, Settings, Title, Undo, Unpin
from agentcli.core.tool import Outcome, Tool, ToolLimits, Workplace
from agentcli.tools.grants import grant
from agentcli.tools.jobs import Jobs


@dataclass(frozen=True, slots=True)
class Outfit:
    """What the composition root gives every session: settings, tools, and the ways to models and people."""

    connect: Callable[[str], Model]
    summariser: Callable[[ModelSpec], Model]
    estimator: Callable[[], Counts]
    tools: Sequence[Tool]
    run: RunTool
    system: tuple[str, ...]
    context: ContextSettings
    budget: BudgetSettings
    agent: AgentSettings
    hooks: HookSettings
    limits: ToolLimits
    rules: Rules
    place: Place
    approve: Approve
    ask: AskUser
    preview: Callable[[Workplace, Tool, Mapping[str, Any]], str]
    save_rule: Callable[[str], None]
    instructions: Sequence[tuple[Path, int]] = ()
    tool_options: Callable[[Mode], Mapping[str, Any]] = lambda _: {}
    jobs: Callable[[], Jobs] = Jobs
    strict: bool = False
    policy: str = ""
    """The policy that this run asks for, whatever the session had before."""
    changes: Callable[[Journal], Makes | None] = lambda _: None
    sandbox: str = ""
    """What holds commands, in a word for the status line."""
    allowance: Callable[[], Allowance] = Allowance
    today: Callable[[], date] = date.today


class OpenDesk:
    """A session that is open for work. See `agentcli.agent.ports.Desk` for what each operation promises."""

    def __init__(self, journal: Journal, outfit: Outfit, model: Model, mode: Mode) -> None:
        self._journal = journal
        self._outfit = outfit
        self._calls: dict[str, ToolCall] = {}
        self._gate = Gate(
            rules=outfit.rules,
            mode=mode,
            place=outfit.place,
            approve=outfit.approve,
            preview=lambda tool, given: outfit.preview(self._work, tool, given),
            save=outfit.save_rule,
            repeats=Repeats(outfit.agent.repeat_limit),
            later=self._later,
        )
        self._opened_at = journal.history.last_seq
        self.jobs = outfit.jobs()
        self._outside = {journal.folder / "outputs"} if journal.folder else set()
        self._work = self._workplace()
        self._counts = outfit.estimator()
        makes = outfit.changes(journal)
        self._cover = Cover(makes, self._record) if makes else None
        self._harmless: set[str] = set()
        self._talk = self._begin(model)
        self._titled = False
        self._told_mode: Mode = "ask"

    @property
    def journal(self) -> Journal:
        """Where the session is kept."""
        return self._journal

    @property
    def history(self) -> History:
        """What is in force now."""
        return self._journal.history

    @property
    def model(self) -> ModelSpec:
        """The model in use."""
        return self._talk.model.spec

    @property
    def mode(self) -> Mode:
        """How much may be done without asking."""
        return self._gate.mode

    @property
    def cwd(self) -> Path:
        """The folder that the session works in."""
        return self._outfit.place.cwd

    @property
    def tools(self) -> Sequence[Tool]:
        """What the model can call."""
        return self._outfit.tools

    @property
    def sandbox(self) -> str:
        """What holds commands, in a word; empty where nothing is said about it."""
        return self._outfit.sandbox

    @property
    def rules(self) -> Rules:
        """The permission rules in force, those of the session included."""
        return self._gate.rules

    @property
    def instructions(self) -> Sequence[tuple[Path, int]]:
        """The instruction files in force with their size in tokens."""
        return self._outfit.instructions

    @property
    def talk(self) -> Talk:
        """The session as the loop works on it."""
        return self._talk

    async def turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """The user says something; the model works until it is done. Ends with exactly one TurnEnded."""
        self._talk.allowance = self._outfit.allowance()
        self._announce()
        async for event in loop.turn(self._talk, self._small_enough(prompt), interrupt):
            yield event

    def steer(self, prompt: Prompt) -> None:
        """Add to the running turn at its next safe point."""
        self._talk.steer(prompt)

    async def compress(self, focus: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """Compact now. Ends with a CompactionEnded."""
        async for event in self._talk.room.compact(self._talk, interrupt, "manual", focus=focus):
            yield event

    def preview(self, focus: str) -> Sequence[str]:
        """Lines that say what `compress` would do now, calling no model."""
        return self._talk.room.preview(self._talk, focus)

    def uncompress(self) -> Sequence[Event]:
        """Take back the newest compaction. Raises InputError when there is none."""
        newest = self.history.compaction
        if newest is None:
            raise InputError("Nothing to take back: this session's view has not been compacted.")
        return [self._record(Undo(newest.seq, "compaction"))]

    def prune(self, undo: bool = False) -> Sequence[Event]:
        """Clear old outputs now; or take back the newest prune. Raises InputError when there is nothing to do."""
        if not undo:
            return self._talk.room.prune(self._talk, forced=True)
        newest = next(reversed(self.history.prunes), None)
        if newest is None:
            raise InputError("Nothing to take back: no output has been cleared since the last compaction.")
        return [self._record(Undo(newest.seq, "prune"))]

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        """Pin the message with this seq, by default the newest prompt. Raises InputError for one that does not exist."""
        if seq is None:
            prompts = [entry.seq for entry in self.history.entries if _is_prompt(entry.body)]
            seq = prompts[-1] if prompts else 0
        record = self._journal.record(seq)
        if record is None or not isinstance(record.body, Message | ToolResult):
            raise InputError(f"There is no message {seq}. /context lists them with their numbers.")
        return [self._record(Unpin(seq) if unpin else Pin(seq))]

    def rewind(self, seq: int) -> Sequence[Event]:
        """Back to just before the prompt with this seq. The conversation only; files stay as they are."""
        record = self._journal.record(seq)
        if record is None or not _is_prompt(record.body):
            raise InputError(f"There is no prompt {seq} to rewind to.")
        return [self._record(Undo(seq - 1, "rewind"))]

    def undo(self) -> Sequence[Event]:
        """Put the files back as they were before the newest change. Raises InputError when there is none."""
        return self._covered().undo()

    def redo(self) -> Sequence[Event]:
        """Take back what came last, an undo of files or a rewind. Raises InputError when there is neither."""
        rewind = rewound.to_redo(self._journal.records(newest_first=True))
        if rewind and not (self._cover and self._cover.redoes > rewind):
            return [self._record(Undo(rewind, "undo")), Noticed("The conversation is as it was before the rewind.")]
        return self._covered().redo()

    def rewind_files(self, seq: int) -> Sequence[Event]:
        """Put files back as they were before the prompt with this seq. Raises InputError when none was changed since."""
        return self._covered().rewind(seq)

    def _covered(self) -> Cover:
        if self._cover is None:
            raise InputError("This session keeps no states of files to go back to.")
        return self._cover

    def switch(self, *, model: str = "", mode: str = "", policy: str = "") -> Sequence[Event]:
        """Change settings from now on. Raises AgentError for a name that is not known, naming the near ones."""
        if mode and mode not in MODES:
            raise InputError(f"There is no mode {mode!r}. There are: {', '.join(MODES)}.")
        if policy and policy not in POLICIES:
            raise InputError(f"There is no policy {policy!r}. There are: {', '.join(POLICIES)}.")
        if model:
            self._talk.model = self._outfit.connect(model)
            model = self.model.name
        if mode:
            self._gate.mode = mode
        if policy:
            self._talk.room.settings = replace(self._talk.room.settings, policy=policy)
        return [self._record(Settings(model, mode, policy))]

    def rename(self, name: str) -> Sequence[Event]:
        """Give the session a name that `resume` takes."""
        return [self._record(Title(name=name))]

    async def improve_title(self) -> Sequence[Event]:
        """Once a session has something to be named after, have the cheap model think of a title; for when nothing else goes on.

        Nothing where that is switched off, done, or not to be paid for.
        """
        if self._titled or not self._outfit.agent.titles or not titling.wanted(self.history):
            return []
        self._titled = True
        model, size = self._cheap_model(), self._talk.size()
        if model is None or self._overspent():
            return []
        title, spent = await titling.improved(self.history, model, size)
        return [self._record(title), *spent] if title.title or spent else []

    def _cheap_model(self) -> Model | None:
        try:
            model = self._outfit.summariser(self.model)
        except AgentError:
            return None  # no key for it, say: the first words of the prompt are a title, too
        return model if titling.is_cheap(model.spec, self.model) else None

    def _overspent(self) -> bool:
        usage, cost = self._talk.spent()
        session = Spent(self.history.usage.total, self.history.cost)
        state = self._talk.purse.state(session, Spent(usage.total, cost))
        return any(budget.used(spent) >= 1 for budget, spent in state)

    def window(self) -> Window:
        """What fills the context window now."""
        room, spec = self._talk.room, self.model
        limits = limits_of(spec, room.settings)
        last = next((entry.body for entry in reversed(self.history.entries) if _has_usage(entry.body)), None)
        cached = last.usage.cache_read + last.usage.cache_write if isinstance(last, Message) and last.usage else 0
        return Window(
            used=self._talk.size(),
            usable=limits.usable,
            window=limits.window,
            soft=limits.soft,
            hard=limits.hard,
            shares=room.shares(self._talk),
            cached=cached,
            estimator=room.settings.estimator,
        )

    def context_report(self) -> Sequence[str]:
        """The window drawn and the messages listed, as plain lines."""
        talk, settings = self._talk, self._talk.room.settings
        limits = limits_of(self.model, settings)
        made = plan(settings.policy, talk.view(), limits, talk.counts, settings)
        tools = talk.counts.overhead((), talk.manner.tools)
        lines = show(talk.view(), talk.counts, limits, made, tools=tools).lines()
        health = f"Cache: {talk.health.hit_rate:.1%} of all input read from it. {talk.health.words()}".rstrip()
        return [*lines, "", f"Counted by {talk.counts.rule.name}. {talk.counts.rule.note}".rstrip(), health]

    def cost_report(self) -> Sequence[str]:
        """Tokens and USD per model."""
        return cost_lines(self._journal.records())

    def budget_report(self) -> Sequence[str]:
        """What has been spent of each budget, in words."""
        usage, cost = self._talk.spent()
        session = Spent(self.history.usage.total, self.history.cost)
        state = self._talk.purse.state(session, Spent(usage.total, cost))
        lines = [f"{budget.scope} ({budget.mode}): {budget.left(spent)} left" for budget, spent in state]
        return lines or [
            "No budget is set. For example: budget.session.cost = 5.0 in config, or --set budget.task.tokens=200000."
        ]

    def cache_report(self) -> Sequence[str]:
        """How well the provider's cache works in this session."""
        return cache_lines(self._talk.health, self.model.prices)

    def tasks_report(self) -> Sequence[str]:
        """The background jobs."""
        return job_lines(self.jobs.all(), time.time())

    def acts_report(self) -> Sequence[str]:
        """What was done unasked before the session was opened this time."""
        return list(acts(record for record in self._journal.records() if record.seq <= self._opened_at))

    def background(self) -> bool:
        """Send the running command to the background; false when none runs."""
        return self.jobs.send_away()

    def glance(self) -> Glance:
        """What the status line tells besides the window."""
        talk, health = self._talk, self._talk.health
        usage, cost = talk.spent()
        state = talk.purse.state(Spent(self.history.usage.total, self.history.cost), Spent(usage.total, cost))
        return Glance(
            sandbox=self.sandbox,
            prunes=prunes_from(limits_of(self.model, talk.room.settings), talk.room.settings),
            hit_rate=health.hit_rate if health.requests else None,
            budget=max((budget.used(spent) for budget, spent in state), default=None),
            jobs=len(self.jobs.running()),
        )

    def diff(self) -> str:
        """This session's changes to files as a unified diff."""
        return changes(self._journal.records())

    def close(self) -> None:
        """Save what waits and let others open the session."""
        self._journal.close()

    def _begin(self, model: Model) -> Talk:
        """The session's beginning: taken from its records where it has one, recorded where it is new."""
        outfit, history = self._outfit, self._journal.history
        tools = tuple(tool.schema for tool in outfit.tools)
        if not history.system:
            raw = tuple({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools)
            self._record(Settings(model.spec.name, self._gate.mode, outfit.context.policy, outfit.system, raw))
        else:
            tools = tuple(ToolSchema(t["name"], t["description"], t["parameters"]) for t in history.tools)
        manner = Manner(
            system=self._journal.history.system,
            tools=tools,
            max_steps=outfit.agent.max_steps,
            max_output=outfit.agent.max_output,
            thinking=outfit.agent.thinking,
            effort=outfit.agent.effort,
            strict=outfit.strict,
        )
        kit = Kit(
            tools={tool.name: tool for tool in outfit.tools},
            work=self._work,
            run=self._run,
            permit=self._permit,
            record=self._record,
            printed=self._work.printed,
        )
        policy = cast(PolicyName, outfit.policy or history.policy or outfit.context.policy)
        hooks = Hooks(outfit.hooks.pre_compress, outfit.hooks.timeout, cwd=self.cwd)
        room = Room(replace(outfit.context, policy=policy), outfit.summariser, hooks)
        purse = Purse(outfit.budget, outfit.approve)
        fallback = outfit.connect(outfit.agent.fallback_model) if outfit.agent.fallback_model else None
        return Talk(
            self._journal, model, manner, kit, self._counts, room, purse, outfit.allowance(), self._news, fallback
        )

    async def _permit(self, call: ToolCall, tool: Tool) -> Permit:
        """The gate's decision; a path outside the workspace that was allowed is open to the tools from now on."""
        permit = await self._gate.permit(call, tool)
        if permit.event is not None and permit.event.rule == "read-only":
            self._harmless.add(permit.call.call_id)
        if not permit.refused:
            grant(self._work, tool, permit.call.input)
        return permit

    async def _run(self, tool: Tool, work: Workplace, call_id: str, given: Mapping[str, Any]) -> Outcome:
        """Run a tool, the states of the files that it may change taken before."""
        harmless = call_id in self._harmless
        self._work.options = self._options(harmless=harmless)
        if self._cover is None:
            return await self._outfit.run(tool, work, call_id, given)
        return await self._cover.run(self._outfit.run, tool, work, call_id, given, harmless=harmless)

    def _later(self, call: ToolCall) -> Sequence[tuple[ToolCall, Tool]]:
        """The calls of the same reply that come after this one."""
        calls, tools = list(self._calls), {tool.name: tool for tool in self._outfit.tools}
        after = calls[calls.index(call.call_id) + 1 :] if call.call_id in calls else []
        return [(self._calls[each], tools[self._calls[each].name]) for each in after if self._calls[each].name in tools]

    async def _leave_plan(self, plan: str) -> None:
        """The person approved the plan: go on in the mode that was chosen with it."""
        self.switch(mode=self._gate.after_plan)

    def _news(self) -> Sequence[str]:
        """What has happened outside of the conversation: background jobs that have ended."""
        return [
            f"Background job {job.id} ({job.command}) has ended: {job.state}. bash_output shows what it printed."
            for job in self.jobs.finished()
        ]

    def _options(self, *, harmless: bool) -> Mapping[str, Any]:
        """Settings of single tools as they are now. A command that runs unasked since it only reads gets the hardened environment."""
        given = self._outfit.tool_options(self.mode)
        bash = {**given.get("bash", {}), "hardened": harmless}
        own = {"bash": bash, "jobs": self.jobs, "exit_plan": self._leave_plan, "outside_ok": self._outside}
        return {**given, **own}

    def _workplace(self) -> SessionWorkplace:
        place = self._outfit.place
        return SessionWorkplace(
            place.cwd,
            place.workspace,
            self._journal,
            self._record,
            limits=self._outfit.limits,
            options=self._options(harmless=False),
            ask=self._outfit.ask,
        )

    def _record(self, body: Body) -> Recorded:
        match body:
            case Message():
                self._calls = {call.call_id: call for call in body.calls} or self._calls
            case ToolResult() if call := self._calls.get(body.call_id):
                self._gate.repeats.note(call, body)
            case _:
                pass
        return Recorded(self._journal.append(body))

    def _small_enough(self, prompt: Prompt) -> Prompt:
        """The prompt; what is too large for the window is kept in a file, and a reference to it stands in its place."""
        settings, usable = self._talk.room.settings, limits_of(self.model, self._talk.room.settings).usable

        def shown(part: Part) -> Part:
            if not (isinstance(part, Text | File) and is_oversize(part.text, self._counts, settings, usable)):
                return part
            path = self._journal.keep_output(f"input-{self.history.last_seq + 1}", part.text)
            words = reference(part.text, path, size_of(part.text, self._counts), settings)
            return replace(part, text=words)

        return replace(prompt, parts=tuple(map(shown, prompt.parts or (Text(prompt.text),))))

    def _announce(self) -> None:
        """Facts that change travel with the next prompt, never in the system text: it must stay the same bytes."""
        if self.history.turn == 0:
            self._talk.pending.append(_reminder(f"Today is {self._outfit.today().isoformat()}."))
        if self.mode != self._told_mode:
            self._talk.pending.append(_reminder(MODE_WORDS[self.mode]))
            self._told_mode = self.mode


MODE_WORDS: Mapping[Mode, str] = {
    "ask": "Edits and commands are put to the user from now on before they run.",
    "auto-edit": "Edits inside the workspace run without asking from now on; commands are still put to the user.",
    "plan": (
        "Plan mode is on: read and search only, change nothing. Work out a plan and present it with the exit_plan tool; "
        "the user decides whether to carry it out."
    ),
    "yolo": "Calls run without asking from now on, unless a rule of the user forbids them.",
    "auto": "Commands run without asking inside the sandbox from now on.",
}


def environment(cwd: Path, roots: Sequence[Path]) -> str:
    """What the model should know of where it works; nothing in it changes while a session lasts."""
    more = "".join(f"\nAlso in the workspace: {root}" for root in roots if root != cwd)
    repository = "yes" if any((folder / ".git").exists() for folder in (cwd, *cwd.parents)) else "no"
    return f"# Where you work\nFolder: {cwd}{more}\nGit repository: {repository}\nPlatform: {platform.system()}"


def _reminder(words: str) -> Text:
    return Text(words, synthetic=True, source="reminder")


def _is_prompt(body: Body) -> bool:
    return (
        isinstance(body, Message)
        and body.role == "user"
        and any(not (isinstance(part, Text) and part.synthetic) for part in body.parts)
    )


def _has_usage(body: Body) -> bool:
    return isinstance(body, Message) and body.usage is not None

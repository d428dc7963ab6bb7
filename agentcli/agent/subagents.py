"""Subagents: a task in a session of its own, with the permissions and the budgets of its parent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from agentcli.agent.conversation import Conversation
from agentcli.agent.extensions.kinds import kind_named, model_for, reaches_servers, settings_for, tools_for
from agentcli.agent.extensions.session import SessionExtensions
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, Prompt
from agentcli.agent.report import changes
from agentcli.agent.setup import SessionSetup
from agentcli.agent.spending import RunLimits
from agentcli.agent.tool_runner import ToolRunner
from agentcli.context.budget import Spent
from agentcli.core.errors import ToolError
from agentcli.core.event import (
    Event,
    Noticed,
    PermissionDecided,
    Retrying,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Waiting,
    Warned,
)
from agentcli.core.history import History, answered
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import Mode
from agentcli.core.subagent_result import FILES, spending
from agentcli.core.tool import Tool, ToolOutput
from agentcli.integrations.extensions.agents import AgentKind
from agentcli.integrations.extensions.discover import listing_only
from agentcli.resources import prompt


class Child(Protocol):
    """The session of a subagent, as far as its parent needs it."""

    journal: Journal
    extensions: SessionExtensions

    @property
    def history(self) -> History: ...

    @property
    def model(self) -> ModelSpec: ...

    def turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]: ...

    def close(self) -> None: ...


OpenChild = Callable[[Journal, SessionSetup, Model, Mode], Child]
AGENTS = 50
"""Subagents of one session at most."""


class Subagents:
    """The subagents of one open session. They run together, `at_once` of them; each asks before it acts, as their parent does."""

    def __init__(
        self,
        setup: SessionSetup,
        runner: ToolRunner,
        conversation: Callable[[], Conversation],
        open_child: OpenChild,
        extensions: Callable[[], SessionExtensions],
    ) -> None:
        """`runner`, `conversation` and `extensions` are the parent's; `open_child` opens a session."""
        self._setup, self._runner, self._parent, self._open_child = setup, runner, conversation, open_child
        self._parent_extensions = extensions
        self._opened = 0
        self._slots = asyncio.Semaphore(max(1, setup.agent.subagents_at_once))
        self._asking = asyncio.Lock()
        self._sent: dict[str, Journal] = {}

    async def delegate(self, call_id: str, description: str, task: str, kind: str) -> ToolOutput:
        """Have a subagent do this and report. Raises ToolError for a kind that does not exist.

        When it is cancelled the subagent is interrupted, and what it has said so far is the report.
        """
        wanted = kind_named(kind, self._parent_extensions().found.agents)
        if self._opened >= AGENTS:
            raise ToolError(f"This session has had {AGENTS} subagents, which is the most. Do it yourself.")
        self._opened += 1
        async with self._slots:
            child = self._open(call_id, description, wanted)
            interrupt = asyncio.Event()
            working = asyncio.create_task(self._work(child, call_id, task, wanted, interrupt))
            try:
                ended = await asyncio.shield(working)
            except asyncio.CancelledError:
                interrupt.set()
                ended = await working
            finally:
                child.close()
        return _outcome(child, ended)

    def _open(self, call_id: str, description: str, kind: AgentKind) -> Child:
        """The subagent's session. In plan mode nothing is changed, so it can only look."""
        setup, approval, conversation = self._setup, self._runner.approval, self._parent()
        planning = approval.mode == "plan"
        tools = tools_for(kind, setup.tools, depth=setup.depth + 1, planning=planning)
        model, trouble = model_for(kind, setup.agent.subagent_model, conversation.model, setup.connect)
        if trouble:
            self._runner.ctx.printed.put_nowait(Warned(trouble))
        journal = setup.child(conversation.journal)
        self._sent[call_id] = journal
        mode: Mode = "ask" if planning else approval.mode
        own = replace(
            setup,
            tools=tools,
            system=lambda model, mode: (*self._system(kind, tools, model, mode), prompt("subagent.md")),
            agent=replace(settings_for(kind, setup.agent), titles=False),
            depth=setup.depth + 1,
            servers=setup.servers if reaches_servers(kind) else None,
            rules=approval.rules + approval.turn_rules,
            approve=self._approve(description, setup.approve),
            run_limits=self._run_limits,
            changes=lambda _: None,
            checkpointer=self._runner.checkpointer,
            above=lambda: self._besides(journal),
            subagent=self._runner.hooks.identity(kind.name, journal),
        )
        return self._open_child(journal, own, model, mode)

    def _system(self, kind: AgentKind, tools: Sequence[Tool], model: ModelSpec, mode: Mode) -> tuple[str, ...]:
        """The system prompt of a subagent: that of its definition in place of the program's, and the lists that it has tools for."""
        setup = self._setup
        whole = setup.system_of(kind.prompt, model, mode) if kind.prompt else setup.system(model, mode)
        delegates = any(tool.traits.delegates for tool in tools)
        return listing_only(whole, skills=any(tool.name == "skill" for tool in tools), agents=delegates)

    async def _work(
        self, child: Child, call_id: str, task: str, kind: AgentKind, interrupt: asyncio.Event
    ) -> TurnEnded:
        ended = TurnEnded("failed")
        given = await child.extensions.with_skills(kind.skills, Prompt(task, typed=False))
        async for event in child.turn(given, interrupt):
            for reported in _reported(event, call_id):
                self._runner.ctx.printed.put_nowait(reported)
            if isinstance(event, TurnEnded):
                ended = event
        return ended

    def _approve(self, description: str, approve: Approve) -> Approve:
        async def asked(request: ApprovalRequest) -> ApprovalResponse | None:
            why = f"A subagent asks ({description}). {request.why}".rstrip()
            async with self._asking:  # one question at a time
                return await approve(replace(request, why=why))

        return asked

    def _run_limits(self) -> RunLimits:
        conversation = self._parent()
        usage, cost = conversation.spent()
        others = [journal.history for journal in self._working()]
        usage = sum((other.usage for other in others), usage)
        return conversation.run_limits.rest(
            conversation.steps, usage, cost + sum(other.cost or 0.0 for other in others)
        )

    def _besides(self, own: Journal) -> tuple[Spent, Spent]:
        """Spending of session and task, without the subagent with this journal."""
        session, task = self._parent().totals_spent()
        if self._setup.above is not None:
            session, task = (each.plus(more) for each, more in zip((session, task), self._setup.above(), strict=True))
        for journal in self._working():
            if journal is not own:
                session, task = (each.add(journal.history.usage, journal.history.cost) for each in (session, task))
        return session, task

    def _working(self) -> Sequence[Journal]:
        """The journals of subagents whose results do not stand in the session yet, and with them what they spent."""
        done = answered(self._parent().journal.history.entries)
        self._sent = {call_id: journal for call_id, journal in self._sent.items() if call_id not in done}
        return [*self._sent.values()]


def _reported(event: Event, call_id: str) -> Iterator[Event]:
    """The events of a subagent that the person sees: a line for each call, usage, denials and warnings."""
    match event:
        case ToolStarted(title=title):
            yield ToolProgress(call_id, f"{title}\n")
        case UsageReported():
            yield replace(event, context=0, kind="subagent")
        case PermissionDecided(decision="deny") | Retrying() | Waiting() | Warned() | Noticed():
            yield event
        case _:
            pass


def _outcome(child: Child, ended: TurnEnded) -> ToolOutput:
    """The subagent's report as the result of the call, with what it changed and spent."""
    history = child.history
    metadata = {
        "session": child.journal.id,
        "steps": ended.steps,
        **_changes(child),
        **spending(child.model.name, history.usage, history.cost),
    }
    match ended.ending:
        case "done":
            return ToolOutput(ended.text or "The subagent said nothing.", metadata=metadata)
        case "interrupted":
            return ToolOutput(_stopped("was interrupted", ended.text), status="interrupted", metadata=metadata)
        case _:
            why = f"stopped: {ended.error or ended.ending}"
            return ToolOutput(_stopped(why, ended.text), status="error", metadata=metadata)


def _stopped(why: str, text: str) -> str:
    last = f" The last it said:\n{text}" if text else ""
    return f"The subagent {why}. What it did before has taken effect.{last}"


def _changes(child: Child) -> Mapping[str, Any]:
    """The files that the subagent changed, each with its lines, and the diffs."""
    found: dict[str, dict[str, Any]] = {}
    for record in child.journal.records():
        body = record.body
        if not isinstance(body, ToolResult) or body.failed or not isinstance(path := body.metadata.get("path"), str):
            continue
        if "diff" in body.metadata:
            one = found.setdefault(path, {"path": path, "additions": 0, "deletions": 0, "created": False})
            one["created"] = one["created"] or bool(body.metadata.get("created"))
            for name in ("additions", "deletions"):
                one[name] += body.metadata.get(name) or 0
    return {FILES: [*found.values()], "diff": changes(child.journal.records())} if found else {}

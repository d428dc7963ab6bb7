"""Subagents: tasks in separate sessions, with their parent's permissions and budgets; and subagents interrupted when
the program exited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import takewhile

from agentcli.agent.core import Child, OpenChild, SessionCore
from agentcli.agent.delegation.kinds import kind_named, model_for, servers_for, settings_for, tools_for, unknown_tools
from agentcli.agent.delegation.subagent_run import FormerSubagent, SubagentRun, outcome, until_ended_or_in_background
from agentcli.agent.delegation.worktree import folder_of, in_worktree, with_worktree
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, Prompt, SessionPromptFiles
from agentcli.agent.project.prompt_files import BUILT_IN, AgentKind, listing_only
from agentcli.agent.setup import Children, Parent
from agentcli.agent.spending import RunLimits, Spent
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.event import Event, Noticed, TurnEnded, Warned
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import FOR_MODEL, Message, ToolCall, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import start_task
from agentcli.core.tool import Tool, ToolOutput
from agentcli.resources import prompt
from agentcli.system.worktrees import NoWorktree, Worktree
from agentcli.tools.jobs import Fresh
from agentcli.tools.lib.output_buffer import OutputBuffer
from agentcli.tools.task import Delegation

_BEGINNING = "Subagents that were at work when the program ended were interrupted; what they did before has taken effect. To have one go on:"
AGENTS = 50
"""Subagents of one session at most."""


class Subagents:
    """Subagents of one open session.

    At most `agent.subagents_at_once` run together; each asks before it acts, as its parent does.
    """

    def __init__(
        self,
        core: SessionCore,
        prompt_files: SessionPromptFiles,
        open_child: OpenChild,
    ) -> None:
        """`core` and `prompt_files` are the parent's; `open_child` opens a session."""
        setup = core.setup
        self._core, self._setup, self._prompt_files, self._open_child = core, setup, prompt_files, open_child
        self._opened = 0
        self._told = False
        self._reported: set[str] = set()
        self._slots = asyncio.Semaphore(max(1, setup.settings.agent.subagents_at_once))
        self._asking = asyncio.Lock()
        self._sent: dict[str, SubagentRun] = {}
        self._journals: dict[str, Journal] = {}

    @cached_property
    def unfinished(self) -> Sequence[Unfinished]:
        """Subagents that were working when the program exited. Read it before the session starts others."""
        delegating = {name for name, traits in self._setup.tools.traits.items() if traits.behaviour.delegates}
        return unfinished(self._core.journal, delegating, self._setup.subagents.children)

    def notices(self) -> Iterator[Event]:
        """Return the notice of interrupted subagents for the person, once."""
        if not self._told:
            self._told = True
            yield from map(Noticed, interruption_notices(self.unfinished))

    def reminder(self) -> str:
        """Return the reminder of interrupted subagents for the model."""
        return reminder(self.unfinished)

    async def delegate(self, call_id: str, work: Delegation) -> ToolOutput:
        """Run a subagent; its report is the output. Raises ToolError for an unknown kind or former subagent.

        Cancelling this interrupts the subagent, whose last words are then the report. In the background, from the start
        or sent there by the user, it is a job.
        """
        former = self._former(work.resume) if work.resume else None
        kind = kind_named(work.agent or (former.kind if former else ""), self._prompt_files.found.agents)
        if self._opened >= AGENTS:
            raise ToolError(f"This session has had {AGENTS} subagents, which is the most. Do it yourself.")
        self._opened += 1
        run = SubagentRun(call_id, work, kind, former, self._core.printed.add)
        working = start_task(self._run(run))
        with self._core.jobs.watched() as away:
            if work.background or kind.background:
                away.set()
            await until_ended_or_in_background(working, away)
        if away.is_set() and not working.done():
            return self._as_job(run, working)
        return await working

    async def _run(self, run: SubagentRun) -> ToolOutput:
        """One subagent from its start to its report."""
        async with self._slots:
            worktree = await self._worktree(run)
            child = self._open(run, worktree)
            run.began(child.core.journal)
            interrupt = asyncio.Event()
            working = start_task(self._work(child, run, interrupt))
            try:
                ended = await asyncio.shield(working)
            except asyncio.CancelledError:
                interrupt.set()
                ended = await working
            finally:
                child.close()
        result = outcome(run, child.core.journal, child.core.model, ended)
        return await with_worktree(result, worktree, child.core.journal.id) if worktree else result

    async def _worktree(self, run: SubagentRun) -> Worktree | None:
        """Return the worktree of a subagent whose definition requests one.

        If that is impossible, return None and send the person a message.
        """
        if not run.kind.worktree or self._core.approval.mode == "plan":
            return None
        try:
            if run.former is not None and (folder := folder_of(run.former.journal)) is not None:
                former = await asyncio.to_thread(self._setup.subagents.former_worktree, folder)
                if former is not None:
                    return former
            return await asyncio.to_thread(self._setup.subagents.worktree, run.call_id)
        except NoWorktree as why:
            notice = f"Agent {run.kind.name} works in the workspace itself: no worktree can be made, since {why}."
            self._core.printed.add(Warned(notice))
            return None

    def _as_job(self, run: SubagentRun, working: asyncio.Task[ToolOutput]) -> ToolOutput:
        """Continue a call's subagent as a background job, whose output is its report; return the call's output."""
        jobs, limits = self._core.jobs, self._setup.settings.limits
        capture = OutputBuffer(limits, lambda text: self._core.ctx.keep_output(run.call_id, text))
        name = f"agent {run.kind.name}: {run.work.description}"
        job = jobs.adopt(name, capture, start_task(run.ended(working)), time.monotonic(), awaited=True)
        run.continue_as(job, Fresh(job, limits.bash_output))
        hint = " bash_output shows its report once it has ended, or waits for it; bash_stop ends it; you are told when it ends."
        return ToolOutput(
            f"The subagent works in the background as {job.id}.{hint}",
            metadata={"job": job.id, "agent": run.kind.name, FOR_MODEL: hint},
        )

    def _former(self, id: str) -> FormerSubagent:
        """Return a former subagent of this session. Raises ToolError for an unknown id, and for a working subagent."""
        if any(run.journal is not None and run.journal.id == id for run in self._working()):
            raise ToolError(f"The subagent {id} is still at work. Wait for its report.")
        own = self._core.journal
        journal = self._journals.get(id) or self._setup.subagents.reopen(own, id)
        if journal is None:
            ids = dict.fromkeys((*(sent for sent, _ in _reported(own)), *(one.id for one in self.unfinished)))
            raise ToolError(f"There is no subagent {id} of this session. Ids: {', '.join(ids) or 'none'}.")
        known = next((one for one in self.unfinished if one.id == id), None)
        kind = next((kind for sent, kind in _reported(own, newest_first=True) if sent == id), None)
        return FormerSubagent(journal, kind or (known.kind if known else ""), kind is not None)

    def _open(self, run: SubagentRun, worktree: Worktree | None) -> Child:
        """Open the subagent's session. In plan mode nothing is changed, so it can only read."""
        kind, description = run.kind, run.work.description
        setup, approval, core = self._setup, self._core.approval, self._core
        planning = approval.mode == "plan"
        tools = tools_for(kind, setup.tools.offered, depth=setup.parent.depth + 1, planning=planning)
        model, trouble = model_for(kind, setup.settings.agent.subagent_model, core.builder.model, setup.models.connect)
        self._tell(kind, trouble)
        journal = run.journal or setup.subagents.child(core.journal)
        if journal.folder is None:
            self._journals[journal.id] = journal
        if recorded := {str(tool["name"]) for tool in journal.history.tools}:
            tools = [tool for tool in tools if tool.name in recorded]
        self._sent[run.call_id] = run
        mode: Mode = "ask" if planning else approval.mode
        own = replace(
            setup,
            tools=replace(setup.tools, offered=tools),
            prompts=replace(setup.prompts, system=partial(self._system, kind, tools)),
            settings=replace(setup.settings, agent=replace(settings_for(kind, setup.settings.agent), titles=False)),
            servers=servers_for(kind, setup.servers, planning=planning),
            permissions=replace(setup.permissions, rules=approval.rules + approval.turn_rules, timed=approval.timed),
            person=replace(setup.person, approve=self._approve(kind.name, description, setup.person.approve)),
            run=replace(setup.run, limits=self._run_limits, lock=None),
            changes=lambda _: None,
            parent=self._parent(kind, journal, kind.only_looks or planning),
        )
        return self._open_child(journal, in_worktree(own, worktree) if worktree else own, model, mode)

    def _parent(self, kind: AgentKind, journal: Journal, looks: bool) -> Parent:
        core = self._core
        return Parent(
            self._setup.parent.depth + 1,
            core.hooks.identity(kind.name, journal),
            partial(self._besides, journal),
            core.journal.id,
            kind.name,
            core.checkpointer,
            looks,
            self._setup.parent.told,
        )

    def _tell(self, kind: AgentKind, trouble: str) -> None:
        """Report to the person which parts of a definition have no effect here; unknown tools are reported once."""
        if trouble:
            self._core.printed.add(Warned(trouble))
        missing = unknown_tools(kind, self._setup.tools.offered)
        if missing and kind.name not in self._reported:
            self._reported.add(kind.name)
            notice = f"Agent {kind.name} goes without tools that do not exist here: {safe_line(', '.join(missing))}."
            self._core.printed.add(Noticed(notice))

    def _system(self, kind: AgentKind, tools: Sequence[Tool], model: ModelSpec, mode: Mode) -> tuple[str, ...]:
        """Return a subagent's system prompt: its definition's instead of the program's, with the lists that its tools
        need.
        """
        setup = self._setup
        whole = setup.prompts.system_of(kind.prompt, model, mode) if kind.prompt else setup.prompts.system(model, mode)
        delegates = any(tool.traits.behaviour.delegates for tool in tools)
        listed = listing_only(whole, skills=any(tool.name == "skill" for tool in tools), agents=delegates)
        return (*listed, prompt("subagent.md"))

    async def _work(self, child: Child, run: SubagentRun, interrupt: asyncio.Event) -> TurnEnded:
        skills = () if run.former else run.kind.skills
        given = await child.prompt_files.with_skills(skills, Prompt(run.work.prompt, typed=False))

        async def report(event: Event) -> None:
            run.report(event)

        return await child.run(given, interrupt, report)

    def _approve(self, kind: str, description: str, approve: Approve) -> Approve:
        who = "A subagent" if kind in BUILT_IN else f"The agent {kind}"

        async def asked(request: ApprovalRequest) -> ApprovalResponse | None:
            why = f"{who} asks ({description}). {request.why}".rstrip()
            async with self._asking:  # one question at a time
                answer = await approve(replace(request, why=why))
            if request.edits and answer is not None and answer.choice == "session":
                self._core.approval.allow_edits()
            return answer

        return asked

    def _run_limits(self) -> RunLimits:
        spending = self._core.spending
        usage, cost = spending.spent()
        others = [run.spent for run in self._working()]
        usage = sum((other for other, _ in others), usage)
        return spending.limits.rest(spending.steps, usage, cost + sum(cost or 0.0 for _, cost in others))

    def _besides(self, own: Journal) -> tuple[Spent, Spent]:
        """Spending of session and task, without the subagent with this journal."""
        session, task = self._core.spending.totals()
        if self._setup.parent.above is not None:
            session, task = (
                each.plus(more) for each, more in zip((session, task), self._setup.parent.above(), strict=True)
            )
        for run in self._working():
            if run.journal is not own:
                session, task = (each.add(*run.spent) for each in (session, task))
        return session, task

    def _working(self) -> Sequence[SubagentRun]:
        """Return the subagents whose results, and so their spending, are not in the session yet."""
        waiting = {call.call_id for call in self._core.journal.history.open_calls}
        self._sent = {
            call_id: run
            for call_id, run in self._sent.items()
            if (not run.job.end_shown if run.job else call_id in waiting)
        }
        return [*self._sent.values()]


def _reported(journal: Journal, newest_first: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the ids and kinds of the subagents that a session's results report."""
    for record in journal.records_of("tool_result", newest_first):
        body = record.body
        if isinstance(body, ToolResult) and body.metadata.get("session"):
            yield str(body.metadata["session"]), str(body.metadata.get("agent", ""))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A subagent that no result reports."""

    id: str
    kind: str
    description: str


def unfinished(journal: Journal, delegating: Collection[str], children: Children) -> Sequence[Unfinished]:
    """Return the subagents without results when a session is opened.

    `delegating` are the tools that start subagents.
    """
    calls = _unreported(journal.history, delegating)
    if not calls:
        return ()
    # Earlier results are not read: they may be all of a long session.
    since = 0 if any(call.input.get("resume") for _, call in calls) else min(seq for seq, _ in calls)
    newest_first = journal.records_of("tool_result", newest_first=True)
    bodies = [record.body for record in takewhile(lambda record: record.seq > since, newest_first)]
    reported = {str(body.metadata.get("session")) for body in bodies if isinstance(body, ToolResult)}
    left = dict(children(journal, since))
    found = []
    for _, call in calls:
        resumed = str(call.input.get("resume") or "")
        fitting = (id for id, prompt in left.items() if id not in reported and prompt == call.input.get("prompt"))
        id = resumed if resumed in left else next(fitting, "")
        if id:
            del left[id]
            found.append(Unfinished(id, str(call.input.get("agent") or ""), str(call.input.get("description") or "")))
    return tuple(found)


def reminder(found: Sequence[Unfinished]) -> str:
    """Return the reminder of unfinished subagents for the model; empty if every subagent finished."""
    lines = [f'- task(resume="{one.id}"): {one.description} (agent {one.kind or "general"})' for one in found]
    return "\n".join([_BEGINNING, *lines]) if lines else ""


def interruption_notices(found: Sequence[Unfinished]) -> Sequence[str]:
    """Return the notice of the unfinished subagents for the person."""
    names = ", ".join(safe_line(one.description or one.id) for one in found)
    count = "A subagent was" if len(found) == 1 else f"{len(found)} subagents were"
    return (
        [f"{count} interrupted when the program ended ({names}). The model is told, and can resume them."]
        if found
        else []
    )


def _unreported(history: History, delegating: Collection[str]) -> Sequence[tuple[int, ToolCall]]:
    """Return the calls in force whose subagent may have been working, each with the number of its record.

    Their results report an interruption by a crash, or a background job.
    """
    calls: dict[str, tuple[int, ToolCall]] = {}
    for entry in history.entries:
        match entry.body:
            case Message() as message:
                for call in message.calls:
                    if call.name in delegating:
                        calls[call.call_id] = entry.seq, call
            case ToolResult() as result if calls and _is_over(result):
                calls.pop(result.call_id, None)
            case _:
                pass
    return tuple(calls.values())


def _is_over(result: ToolResult) -> bool:
    return "session" in result.metadata or result.status in ("error", "denied")

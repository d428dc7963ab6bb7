"""The core of a session: its records, model, approval and hooks. It is whole before anything is built on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from agentcli.agent.approval import ApprovalGate, RepeatGuard
from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.checkpointing import Checkpointer
from agentcli.agent.hooks.outcome import NoHooks
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import SessionSetup, beginning, changed_beginning
from agentcli.agent.spending import BudgetGuard, TurnSpending
from agentcli.agent.streams import PrintedEvents
from agentcli.agent.tool_context import SessionTodo, SessionToolContext
from agentcli.context.settings import PolicyName
from agentcli.context.tokens.counter import TokenCounter
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Noticed, Recorded
from agentcli.core.journal import Journal
from agentcli.core.mcp_servers import Servers
from agentcli.core.message import Usage
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.record import Body, Mode, Settings
from agentcli.core.tool import CallScope, Tool, Traits
from agentcli.hooks.opening import hooks_of
from agentcli.tools.ask_user import Answers
from agentcli.tools.jobs import Jobs
from agentcli.tools.lib.seen_files import SeenFiles
from agentcli.tools.todo import TodoList


@dataclass(frozen=True, slots=True)
class SessionCore:
    """The core of a session, available to every feature. `builder` has the model in use, `approval` mode and rules."""

    setup: SessionSetup
    journal: Journal
    opened_at: int
    """The number of the newest record when the session was opened; 0 for a new one."""
    builder: RequestBuilder
    traits: dict[str, Traits]
    """The traits of all tools; traits of MCP tools are added as the tools are found."""
    printed: PrintedEvents
    ctx: SessionToolContext
    seen: SeenFiles
    jobs: Jobs
    checkpointer: Checkpointer | None
    buffers: UnsavedBuffers
    approval: ApprovalGate
    hooks: NoHooks
    guard: BudgetGuard
    spending: TurnSpending

    @property
    def model(self) -> ModelSpec:
        """The model in use."""
        return self.builder.model.spec

    async def objection(self, model: ModelSpec, tokens: int) -> str:
        """Return the reason why the budgets forbid sending so many tokens to a model; empty if they allow it."""
        return await self.guard.objection(*self.spending.totals(), tokens, model.cost(Usage(input=tokens)) or 0.0)

    def record(self, body: Body) -> Recorded:
        """Append to the session. It is durable when this returns, or the journal says that the disk fails."""
        return Recorded(self.journal.append(body))


def core_of(journal: Journal, setup: SessionSetup, model: Model, mode: Mode) -> SessionCore:
    """Build the core of a session that begins, or continues with the records of a journal."""
    opened_at = journal.history.last_seq
    printed, jobs, traits = PrintedEvents(), setup.jobs(), dict(setup.tools.traits)

    def record(body: Body) -> Recorded:
        return Recorded(journal.append(body))

    ctx, seen = _tool_context(journal, setup, record, printed), SeenFiles(journal.history.entries)
    ctx.offer(SeenFiles, seen)
    ctx.offer(Jobs, jobs)
    make_changes, changed = setup.changes(journal), setup.person.editor.changed if setup.person.editor else None
    checkpointer = setup.parent.checkpointer
    if make_changes is not None:
        checkpointer = Checkpointer(make_changes, record, printed.add, ctx.cwd, changed)
    buffers = UnsavedBuffers(setup.person.editor, ctx, checkpointer)
    builder = _builder(journal, setup, model, mode)

    async def preview(tool: Tool, given: Mapping[str, Any], path: Path | None) -> str:
        unsaved = await buffers.for_edit(path) if tool.traits.edits_files else {}
        return tool.preview(ctx.for_call(CallScope(path, buffers=unsaved)), given)

    approval = ApprovalGate(
        traits=traits,
        rules=setup.permissions.rules,
        mode=mode,
        workspace=setup.workspace,
        approve=setup.person.approve,
        preview=preview,
        save=setup.permissions.save_rules,
        save_everywhere=setup.permissions.save_everywhere,
        switched=lambda mode: record(Settings("", mode)),
        repeats=RepeatGuard(setup.settings.agent.repeat_limit),
        notice=lambda text: printed.add(Noticed(text)),
    )
    hooks = hooks_of(journal, setup, lambda: approval.mode, lambda: builder.model.spec.id)
    guard = BudgetGuard(setup.settings.budget, setup.person.approve, setup.parent.above)
    spending = TurnSpending(journal, setup.run.limits())
    return SessionCore(
        setup,
        journal,
        opened_at,
        builder,
        traits,
        printed,
        ctx,
        seen,
        jobs,
        checkpointer,
        buffers,
        approval,
        hooks,
        guard,
        spending,
    )


def _tool_context(
    journal: Journal, setup: SessionSetup, record: Callable[[Body], Recorded], printed: PrintedEvents
) -> SessionToolContext:
    """Build the context of calls, with the services that need nothing but records and the person."""
    ctx = SessionToolContext(setup.workspace, journal, setup.settings.limits, printed)
    ctx.offer(TodoList, SessionTodo(journal, record, printed))
    ctx.offer(Answers, setup.person)
    if setup.servers is not None:
        ctx.offer(Servers, setup.servers)
    return ctx


def _builder(journal: Journal, setup: SessionSetup, model: Model, mode: Mode) -> RequestBuilder:
    """Build the builder of requests, with the beginning that the session has recorded, or will record before its first one."""
    policy = setup.run.policy or journal.history.policy or setup.settings.context.policy
    for body in changed_beginning(setup, journal, model.spec, mode):
        journal.append(body)
    born = journal.history if journal.history.system else beginning(setup, model.spec, mode)
    return RequestBuilder(
        journal,
        model,
        born.system,
        tuple(map(ToolSchema.recorded, born.tools)),
        TokenCounter(setup.models.estimator(policy)),
        replace(setup.settings.context, policy=cast(PolicyName, policy)),
        setup.settings.agent,
        setup.tools.traits,
        strict=setup.run.strict,
    )

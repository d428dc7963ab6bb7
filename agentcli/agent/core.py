"""The core of a session: its records, model, approval and hooks. It is complete before anything is built on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentcli.agent.approval import ApprovalGate
from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.calls.call import PrintedEvents
from agentcli.agent.checkpointing import Checkpointer
from agentcli.agent.hooks import Hooks
from agentcli.agent.ports import Prompt, SessionPromptFiles
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import SessionSetup, beginning, changed_beginning
from agentcli.agent.spending import BudgetGuard, TurnSpending
from agentcli.agent.tool_context import SessionToolContext
from agentcli.agent.working_folder import WorkingFolder
from agentcli.context.settings import PolicyName
from agentcli.context.tokens.counter import TokenCounter
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Emit, Noticed, Recorded, TurnEnded
from agentcli.core.journal import Journal
from agentcli.core.message import Usage
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import TIMED_RULES, Body, Mode, Settings
from agentcli.core.tool import CallScope, Tool, Traits
from agentcli.system.programs import environment
from agentcli.tools.jobs import Jobs
from agentcli.tools.seen_files import SeenFiles

if TYPE_CHECKING:
    from agentcli.agent.timed_rules import RunRules, TimedRules


@dataclass(frozen=True, slots=True)
class SessionCore:
    """The core of a session, available to every feature. `builder` has the current model, `approval` mode and rules."""

    setup: SessionSetup
    journal: Journal
    opened_at: int
    """Number of the newest record when the session was opened; 0 for a new one."""
    builder: RequestBuilder
    traits: dict[str, Traits]
    """Traits of all tools; traits of MCP tools are added as the tools are found."""
    printed: PrintedEvents
    ctx: SessionToolContext
    seen: SeenFiles
    jobs: Jobs
    checkpointer: Checkpointer | None
    buffers: UnsavedBuffers
    folder: WorkingFolder
    approval: ApprovalGate
    hooks: Hooks
    guard: BudgetGuard
    spending: TurnSpending

    @property
    def model(self) -> ModelSpec:
        """The model in use."""
        return self.builder.model.spec

    async def objection(self, model: ModelSpec, tokens: int) -> str:
        """Return why the budgets forbid sending so many tokens to a model; empty if they allow it."""
        return await self.guard.objection(*self.spending.totals(), tokens, model.cost(Usage(input=tokens)) or 0.0)

    def record(self, body: Body) -> Recorded:
        """Append to the session. It is durable on return, or the journal reports that the disk fails."""
        return Recorded(self.journal.append(body))


@dataclass(frozen=True, slots=True)
class Child:
    """The open session of a subagent."""

    core: SessionCore
    prompt_files: SessionPromptFiles
    run: Callable[[Prompt, asyncio.Event, Emit], Awaitable[TurnEnded]]
    close: Callable[[], None]


OpenChild = Callable[[Journal, SessionSetup, Model, Mode], Child]


class SessionLog:
    """The records of a session, and the events between them: `printed`."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.printed = journal, PrintedEvents()

    def record(self, body: Body) -> Recorded:
        """Append to the session."""
        return Recorded(self.journal.append(body))

    def switched(self, mode: Mode) -> None:
        """Record that an answer has changed the mode."""
        self.record(Settings("", mode))

    def tell(self, text: str) -> None:
        """Tell the person something."""
        self.printed.add(Noticed(text))


class Previews:
    """Previews of calls, based on the unsaved content of the files that they edit."""

    def __init__(self, ctx: SessionToolContext, buffers: UnsavedBuffers) -> None:
        self._ctx, self._buffers = ctx, buffers

    async def of(self, tool: Tool, given: Mapping[str, Any], paths: Sequence[Path]) -> str:
        """Return the preview of a call on allowed paths."""
        unsaved = await self._buffers.for_edit(paths) if tool.traits.edits_files else {}
        return tool.preview(self._ctx.for_call(CallScope(tuple(paths), buffers=unsaved)), given)


def core_of(journal: Journal, setup: SessionSetup, model: Model, mode: Mode) -> SessionCore:
    """Build the core of a session that begins, or continues with a journal's records."""
    opened_at, log, traits = journal.history.last_seq, SessionLog(journal), dict(setup.tools.traits)
    ctx = SessionToolContext(setup.workspace, journal, setup.settings.limits, log.printed)
    checkpointer = _checkpointer(log, setup)
    buffers = UnsavedBuffers(setup.person.editor, ctx, checkpointer)
    builder = _builder(journal, setup, model, mode)
    folder = WorkingFolder(journal, setup.workspace, log.record)
    hooks = Hooks()
    if setup.hooks is not None:
        hooks = setup.hooks(journal, setup, lambda: approval.mode, lambda: builder.model.spec)
    approval = _approval(setup, mode, traits, Previews(ctx, buffers), log, folder, hooks)
    return SessionCore(
        setup,
        journal,
        opened_at,
        builder,
        traits,
        log.printed,
        ctx,
        SeenFiles(journal.history.entries),
        setup.jobs(),
        checkpointer,
        buffers,
        folder,
        approval,
        hooks,
        BudgetGuard(setup.settings.budget, setup.person.approve, setup.parent.above),
        TurnSpending(journal, setup.run.limits()),
    )


def _checkpointer(log: SessionLog, setup: SessionSetup) -> Checkpointer | None:
    """Return the checkpointer of a session: for a subagent its parent's, None for a session without checkpoints."""
    make_changes, editor = setup.changes(log.journal), setup.person.editor
    if make_changes is None:
        return setup.parent.checkpointer
    changed = editor.changed if editor is not None else None
    return Checkpointer(make_changes, log.record, log.printed.add, setup.workspace.cwd, changed)


def _approval(
    setup: SessionSetup,
    mode: Mode,
    traits: dict[str, Traits],
    previews: Previews,
    log: SessionLog,
    folder: WorkingFolder,
    hooks: Hooks,
) -> ApprovalGate:
    permissions, secrets = setup.permissions, setup.settings.limits.bash_secrets

    def shell_env() -> Mapping[str, str]:
        return environment(setup.workspace.command_env, secrets) | dict(hooks.variables)

    return ApprovalGate(
        traits=traits,
        rules=permissions.rules,
        mode=mode,
        workspace=replace(setup.workspace, shell_env=shell_env),
        approve=setup.person.approve,
        preview=previews.of,
        save=permissions.save_rules,
        timed=permissions.timed or _timed_rules(log, permissions.run),
        save_everywhere=permissions.save_everywhere,
        answered=permissions.answered,
        add_folder=permissions.add_folder,
        switched=log.switched,
        start_of=folder.start_of,
        notice=log.tell,
        attended=setup.person.attended,
        looks=setup.parent.looks,
    )


def _timed_rules(log: SessionLog, run: RunRules | None) -> OnDemand[TimedRules]:
    def make() -> TimedRules:
        from agentcli.agent.timed_rules import TimedRules

        return TimedRules(log.journal, log.record, run=run)

    return OnDemand(make, lambda: run is not None or TIMED_RULES in log.journal.history.features)


def _builder(journal: Journal, setup: SessionSetup, model: Model, mode: Mode) -> RequestBuilder:
    """Build the request builder, with the beginning that the session has recorded, or will record before its first
    request.
    """
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

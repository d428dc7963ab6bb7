"""An open session in memory with a scripted model, real tools and real permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.agent.parts import MakePart
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, AskUser, Prompt
from agentcli.agent.project.prompt_files import PromptFiles
from agentcli.agent.session import AgentSession
from agentcli.agent.settings import AgentSettings
from agentcli.agent.setup import (
    ModelAccess,
    Permissions,
    Prompts,
    RunSetup,
    SessionSettings,
    SessionSetup,
    SubagentSetup,
    Toolset,
    no_worktree,
)
from agentcli.agent.setup import (
    Person as WhoIsAsked,
)
from agentcli.agent.spending import RunLimits
from agentcli.context.settings import BudgetSettings, ContextSettings
from agentcli.context.tokens.estimators import Calibrated
from agentcli.core.event import Event, TurnEnded
from agentcli.core.mcp_servers import Servers
from agentcli.core.message import Message, ToolResult
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import Mode
from agentcli.core.tool import ToolLimits
from agentcli.features.hooks.files import Hook
from agentcli.features.hooks.session_hooks import hooks_of
from agentcli.features.mcp.session import McpSession
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.program.config.general import McpSettings
from agentcli.program.prompt_files.session import PromptFilesSession
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import Script, ScriptedModel
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS, run, tools

DEMO = spec("demo")


class Person:
    """Somebody who answers approvals with what was laid down, and remembers what was asked."""

    def __init__(self, *answers: ApprovalResponse | None) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        self.asked.append(ask)
        return self.answers.pop(0) if self.answers else None


def open_session(
    folder: Path,
    script: Script,
    *,
    model: ModelSpec = DEMO,
    mode: Mode = "ask",
    person: Person | None = None,
    context: ContextSettings | None = None,
    budget: BudgetSettings | None = None,
    run_limits: RunLimits | None = None,
    limits: ToolLimits | None = None,
    saved: list[str] | None = None,
    journal: Any = None,
    changes: Any = lambda _: None,
    child: Any = lambda _: MemorySession(),
    summariser: Model | None = None,
    wrapped: Callable[[Model], Model] = lambda model: model,
    attended: bool = True,
    ask: AskUser | None = None,
    hooks: Sequence[Hook] = (),
    trusted: bool = False,
    rules: Rules | None = None,
    prompt_files: Callable[[], PromptFiles] = PromptFiles,
    reopen: Any = lambda *_: None,
    children: Any = lambda _, since: (),
    worktree: Any = no_worktree,
    add_work_tree: Callable[[Path], None] = lambda _: None,
    former_worktree: Any = lambda _: None,
    readable: Callable[[], Sequence[Path]] = tuple,
    system: tuple[str, ...] = ("You are a test.",),
    servers: Servers | None = None,
    mcp: McpSettings | None = None,
    connect: Callable[[str], Model] | None = None,
    features: Sequence[MakePart] = (),
    off: Collection[str] = ("lsp", "web_search"),
    **agent: Any,
) -> AgentSession:
    """A session that works in `folder`; `wrapped` puts a model around the scripted one, `connect` makes those that it changes to."""
    made: Model = wrapped(ScriptedModel(model, script))

    async def nobody(_: Any) -> None:
        return None

    def connected(core: SessionCore) -> McpSession | None:
        pool = core.setup.servers
        return McpSession(core, pool, mcp or McpSettings()) if pool is not None else None

    lacking = {*off, "skill"} if prompt_files is PromptFiles else {*off}
    lacking |= {"mcp_search", "mcp_call"} if servers is None else set()
    setup = SessionSetup(
        models=ModelAccess(
            connect=connect or (lambda name: ScriptedModel(replace(model, id=name.partition("/")[2]), script)),
            summariser=lambda _: summariser or made,
            estimator=lambda _: Calibrated(),
        ),
        tools=Toolset([tool for tool in tools() if tool.name not in lacking], TRAITS, run),
        prompts=Prompts(lambda _model, _mode: system),
        settings=SessionSettings(
            context=context or ContextSettings(),
            budget=budget or BudgetSettings(),
            agent=AgentSettings(**agent),
            limits=limits or ToolLimits(),
        ),
        permissions=Permissions(
            rules=rules or parse_rules(),
            save_rules=lambda rules: (saved if saved is not None else []).extend(map(str, rules)),
            add_work_tree=add_work_tree,
            trusted=trusted,
        ),
        person=WhoIsAsked(person or nobody, ask or nobody, attended),
        workspace=Workspace(folder, (folder,), home=folder / "home", readable=readable),
        subagents=SubagentSetup(child, reopen, children, worktree, former_worktree),
        run=RunSetup(limits=lambda: run_limits or RunLimits(), strict=True),
        hooks=partial(hooks_of, hooks) if hooks else None,
        prompt_files=prompt_files,
        servers=servers,
        changes=changes,
        today=lambda: date(2026, 11, 20),
    )
    return AgentSession(
        journal or MemorySession(),
        setup,
        made,
        mode,
        features=[PromptFilesSession, connected, *features],
    )


def say_to(session: AgentSession, *texts: str) -> list[Event]:
    """All events of one turn, or of several."""

    async def collect() -> list[Event]:
        return [event for text in texts async for event in session.turn(Prompt(text), asyncio.Event())]

    return asyncio.run(collect())


def ended(events: Sequence[Event]) -> TurnEnded:
    """The one way in which the turn ended."""
    assert sum(isinstance(event, TurnEnded) for event in events) == 1
    last = events[-1]
    assert isinstance(last, TurnEnded)
    return last


def messages(session: AgentSession) -> list[Message]:
    """The messages, in order."""
    return [entry.body for entry in session.history.entries if isinstance(entry.body, Message)]


def results(session: AgentSession) -> list[ToolResult]:
    """The answers to calls, in order."""
    return [entry.body for entry in session.history.entries if isinstance(entry.body, ToolResult)]

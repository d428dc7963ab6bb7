"""Features that lie in packages of their own. A run loads nothing of a package that it does not use, so each method imports what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.tool_context import offer
from agentcli.core.event import Emit, Event, TurnEnded
from agentcli.core.tool import ToolLimits
from agentcli.features.hooks import loaded
from agentcli.features.hooks.opening import found_hooks
from agentcli.features.mcp.run_servers import RunServers, project_servers, servers_of
from agentcli.program.config.general import General
from agentcli.program.feature import CheckedProgram, Feature, FoundHooks, Row, RunPart
from agentcli.program.mcp_settings import McpSettings
from agentcli.tools import registry
from agentcli.tools.jobs import Jobs, Wakes

if TYPE_CHECKING:
    import asyncio

    from agentcli.agent.ports import Prompt
    from agentcli.agent.session import AgentSession
    from agentcli.permissions.started import Started
    from agentcli.program.commands import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import WrapTurn
    from agentcli.providers.settings import ProviderSettings
    from agentcli.tools.jobs import Job

USUAL_FROM = 4
"""Turns of a session after which there is a usual cost of a turn."""


class Costs(Feature):
    name = "cost"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.costs.commands import COMMANDS

        return COMMANDS

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        return CostsSession(core)


class CostsSession(SessionPart):
    """The costs of a session's turns so far: one that costs much more than usual gets a line."""

    name = "cost"

    def __init__(self, core: SessionCore) -> None:
        self._core, self._turns = core, list[float]()

    def ended(self, ended: TurnEnded) -> Iterable[Event]:
        self._turns.append(self._core.spending.spent()[1])
        if len(self._turns) <= USUAL_FROM:
            return ()
        from agentcli.features.costs.session import line

        return line(self._core, self._turns)


class Accounts(Feature):
    name = "accounts"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.accounts.commands import COMMANDS

        return COMMANDS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        folders = program.config[General].accounts
        if not folders:
            return ()
        from agentcli.features.accounts.report import rows

        return rows(program, folders)


class WakeOn(Feature):
    name = "wake_on"

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        return WakeOnSession(core.jobs)


class WakeOnSession(SessionPart):
    """The background commands of a session whose output wakes the model."""

    name = "wake_on"

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self.services = [offer(Wakes, self._watch)]

    def _watch(self, job: Job, pattern: str, seconds: float) -> None:
        from agentcli.features.timers.wake_on.session import watch

        watch(job, pattern, seconds)

    async def background(self) -> bool:
        if not self._jobs.has_listener:
            return False
        from agentcli.features.timers.wake_on.session import has_news

        return await has_news(self._jobs)

    def is_due(self) -> bool:
        if not self._jobs.has_listener:
            return False
        from agentcli.features.timers.wake_on.session import is_due

        return is_due(self._jobs)

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> Prompt | None:
        from agentcli.features.timers.wake_on.session import due

        return await due(self._jobs, interrupt, emit)


class WebSearch(Feature):
    name = "web search"
    tools = registry.WEB_SEARCH

    def offers(self, program: CheckedProgram) -> bool:
        return program.config[ToolLimits].web_search != "off"

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        setting = program.config[ToolLimits].web_search
        if setting == "off":
            return ()
        from agentcli.features.web_search.report import rows

        return rows(program, setting)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        if not self.offers(program):
            return None
        from agentcli.features.web_search.session import WebSearchSession

        return WebSearchSession(program, core)

    def keyed(self) -> Iterable[ProviderSettings]:
        from agentcli.features.web_search.engines import keyed

        return keyed()


class Mcp(Feature):
    name = "mcp"
    tools = registry.MCP

    def commands(self) -> Sequence[Command]:
        from agentcli.features.mcp.commands import COMMANDS

        return COMMANDS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        from agentcli.features.mcp.checks import server_rows

        return server_rows(program)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        if core.setup.servers is None:
            return None
        from agentcli.features.mcp.session import McpSession

        return McpSession(core, core.setup.servers, program.config[McpSettings])

    def part(self, program: CheckedProgram) -> RunPart | None:
        return RunServers(program)

    def definitions(self, program: CheckedProgram) -> Iterable[Definition]:
        return project_servers(program)

    def started(self, program: CheckedProgram) -> Iterable[Started]:
        return servers_of(program).started()


class Hooks(Feature):
    name = "hooks"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.hooks.commands import COMMANDS

        return COMMANDS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        from agentcli.features.hooks.report import rows

        return rows(program)

    def report(self, program: CheckedProgram, session: AgentSession) -> Sequence[str]:
        from agentcli.features.hooks.report import lines

        return lines(program, session)

    def hooks(self, program: CheckedProgram) -> FoundHooks | None:
        return found_hooks(program)

    def definitions(self, program: CheckedProgram) -> Iterable[Definition]:
        return loaded.definitions(program)

    def started(self, program: CheckedProgram) -> Iterable[Started]:
        return loaded.started(program)


class Goal(Feature):
    name = "goal"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.goal.commands import COMMANDS

        return COMMANDS

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        return GoalSession(core)


class GoalSession(SessionPart):
    """The goal of a session: after each turn its check decides whether the work continues."""

    name = "goal"

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    def notes(self) -> Sequence[str]:
        from agentcli.features.goal.session import notes

        return notes(self._core)

    def decides(self) -> bool:
        from agentcli.features.goal.session import is_running

        return is_running(self._core)

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded | None:
        from agentcli.features.goal.session import follow

        return await follow(self._core, ended, interrupt, emit)


class Timers(Feature):
    name = "timers"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.timers.commands import COMMANDS

        return COMMANDS

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        return TimersSession(core)


class TimersSession(SessionPart):
    """The timers of a session."""

    name = "timers"

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    def notes(self) -> Sequence[str]:
        from agentcli.features.timers.session import notes

        return notes(self._core)

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded | None:
        from agentcli.features.timers.session import follow

        return await follow(self._core, ended, interrupt, emit)

    def is_due(self) -> bool:
        if self.name not in self._core.journal.history.features:
            return False
        from agentcli.features.timers.session import is_due

        return is_due(self._core)

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> str | None:
        from agentcli.features.timers.session import due

        return await due(self._core, interrupt, emit)


class Checks(Feature):
    name = "checks"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.checks.commands import COMMANDS

        return COMMANDS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        from agentcli.features.checks.report import rows

        return rows(program)

    def report(self, program: CheckedProgram, session: AgentSession) -> Sequence[str]:
        from agentcli.features.checks.report import lines

        return lines(program, session)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        if not program.config[General].checks:
            return None
        from agentcli.features.checks.session import SessionChecks

        return SessionChecks(program, core)

    def definitions(self, program: CheckedProgram) -> Iterable[Definition]:
        if not program.config[General].checks:
            return ()
        from agentcli.features.checks.configured import definitions

        return definitions(program)

    def started(self, program: CheckedProgram) -> Iterable[Started]:
        if not program.config[General].checks:
            return ()
        from agentcli.features.checks.configured import started

        return started(program)


class SideQuestions(Feature):
    name = "side questions"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.side_question.commands import COMMANDS

        return COMMANDS


class LanguageServers(Feature):
    name = "language servers"
    tools = registry.LSP

    def offers(self, program: CheckedProgram) -> bool:
        return program.config[General].lsp and program.trusted

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        if not program.config[General].lsp:
            return ()
        from agentcli.features.checks.lsp.report import rows

        return rows(program)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        if not program.config[General].lsp:
            return None
        from agentcli.features.checks.lsp.session import SessionServers

        return SessionServers(program, core)

    def definitions(self, program: CheckedProgram) -> Iterable[Definition]:
        if not program.config[General].lsp:
            return ()
        from agentcli.features.checks.lsp.configured import definitions

        return definitions(program)

    def started(self, program: CheckedProgram) -> Iterable[Started]:
        if not program.config[General].lsp:
            return ()
        from agentcli.features.checks.lsp.configured import started

        return started(program)


class OpenTelemetry(Feature):
    name = "opentelemetry"

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        if not program.given_env.get("AGENTCLI_OTEL"):
            return ()
        from agentcli.features.otel.report import rows

        return rows(program)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        if not program.given_env.get("AGENTCLI_OTEL"):
            return None
        from agentcli.features.otel.session import telemetry_of

        return telemetry_of(program, core)


class OutputSchema(Feature):
    name = "output schema"

    def wraps(self, program: CheckedProgram) -> Iterable[WrapTurn]:
        """Hold the answer to the schema that the options name, if they name one."""
        if not (given := program.options.output_schema):
            return ()
        from agentcli.features.output_schema.run import holding_to

        return [holding_to(given)]

"""The features of the program, in one list. Tools, slash commands, `doctor`'s checks and parts of the system prompt come in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import Schedule, SessionFeature, WithState, no_background
from agentcli.agent.tool_context import offer
from agentcli.annexes import annex
from agentcli.config.general import General
from agentcli.core.event import Event, TurnEnded
from agentcli.core.tool import ToolLimits
from agentcli.hooks.opening import found_hooks
from agentcli.mcp.run_servers import RunServers
from agentcli.program.feature import CheckedProgram, Feature, Row, later
from agentcli.program.mcp_settings import McpSettings
from agentcli.tools import registry
from agentcli.tools.jobs import Wakes

if TYPE_CHECKING:
    from agentcli.program.feature import WrapTurn

USUAL_FROM = 4
"""Turns of a session after which there is a usual cost of a turn."""


def _goal(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    follow, notes, is_running = (later(f"goal.session:{name}") for name in ("follow", "notes", "is_running"))
    return SessionFeature(
        "goal", with_state=WithState(partial(follow, core), partial(notes, core), partial(is_running, core))
    )


def _timers(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    follow, notes = later("timers.session:follow"), later("timers.session:notes")
    is_due, due = later("timers.session:is_due"), later("timers.session:due")
    return SessionFeature(
        "timers",
        with_state=WithState(partial(follow, core), partial(notes, core)),
        schedule=Schedule(
            lambda: "timers" in core.journal.history.features and is_due(core),
            partial(due, core),
        ),
    )


def _wake_on(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    jobs, is_due, has_news = core.jobs, later("wake_on.session:is_due"), later("wake_on.session:has_news")
    return SessionFeature(
        "wake_on",
        services=[offer(Wakes, later("wake_on.session:watch"))],
        background=lambda: has_news(jobs) if jobs.has_listener else no_background(),
        schedule=Schedule(lambda: jobs.has_listener and is_due(jobs), partial(later("wake_on.session:due"), jobs)),
    )


def _cost(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    turns: list[float] = []

    def ended(_: TurnEnded) -> Iterable[Event]:
        turns.append(core.spending.spent()[1])
        found: Iterable[Event] = later("costs.session:ended")(core, turns) if len(turns) > USUAL_FROM else ()
        return found

    return SessionFeature("cost", ended=ended)


def _if_accounts(program: CheckedProgram) -> Iterable[Row]:
    """Report the accounts, if the configuration names any."""
    folders = program.config[General].accounts
    found: Iterable[Row] = later("accounts.report:rows")(program, folders) if folders else ()
    return found


def _refuse_unread(program: CheckedProgram, text: str, own: str) -> None:
    """Refuse a prompt that may name a command or a skill of a folder that is not trusted."""
    if (text.startswith("/") or "$" in own) and not program.trusted:
        later("extensions.unread:refuse")(text, own, program.cwd, program.extensions)


def _output_schema(program: CheckedProgram) -> Iterable[WrapTurn]:
    """Hold the answer to the schema that the options name, if they name one."""
    given = program.options.output_schema
    return [later("output_schema.run:holding_to")(given)] if given else ()


def _if(is_on: Callable[[CheckedProgram], object]) -> Callable[[str], Callable[..., Any]]:
    """Return what makes a function of a feature one that is imported and called only if the feature is on; otherwise nothing comes of it."""

    def of(place: str) -> Callable[..., Any]:
        return lambda program, *more: later(place)(program, *more) if is_on(program) else ()

    return of


def _session_of(name: str, function: Callable[..., Any]) -> Callable[[CheckedProgram, SessionCore], SessionFeature]:
    """Return what opens a feature in a session; an empty one if it is off."""
    return lambda program, core: function(program, core) or SessionFeature(name)


def _searches(program: CheckedProgram) -> bool:
    return program.config[ToolLimits].web_search != "off"


_if_checks = _if(lambda program: program.config[General].checks)
_if_lsp = _if(lambda program: program.config[General].lsp)
_if_otel = _if(lambda program: program.given_env.get("AGENTCLI_OTEL"))
_if_search = _if(_searches)


FEATURES: Sequence[Feature] = (
    Feature("conversation", commands=later("ui.commands.built_in:CONVERSATION")),
    Feature("cost", commands=later("costs.commands:COMMANDS"), session=_cost),
    Feature("accounts", commands=later("accounts.commands:COMMANDS"), checks=_if_accounts),
    Feature("files", registry.FILES),
    Feature("shell", registry.SHELL, commands=later("ui.commands.built_in:JOBS")),
    Feature("wake_on", session=_wake_on),
    Feature("todo", registry.TODO, commands=later("ui.commands.built_in:TODO")),
    Feature("recall", registry.RECALL),
    Feature("questions", registry.QUESTIONS),
    Feature("plan mode", registry.PLAN),
    Feature("web", registry.WEB),
    Feature(
        "web search",
        registry.WEB_SEARCH,
        checks=lambda program: _if_search("web_search.report:rows")(program, program.config[ToolLimits].web_search),
        session=_session_of("web search", _if_search("web_search.session:session_feature")),
        offers=_searches,
        keyed=later("web_search.engines:keyed"),
    ),
    Feature("subagents", registry.SUBAGENTS, checks=later("app.doctor_worktrees:worktree_rows")),
    Feature(
        "skills and commands",
        registry.SKILLS,
        commands=later("ui.commands.built_in:EXTENSIONS"),
        checks=later("app.checks:extension_rows"),
        prompt=later("program.system_prompt:catalogue_of"),
        session=lambda _, core: later("extensions.session:session_feature")(core),
        refuse=_refuse_unread,
    ),
    Feature(
        "mcp",
        registry.MCP,
        commands=later("mcp.commands:COMMANDS"),
        checks=later("mcp.checks:server_rows"),
        session=lambda program, core: later("mcp.session:session_feature")(core, program.config[McpSettings]),
        definitions=later("mcp.run_servers:project_servers"),
        started=later("mcp.run_servers:started"),
        part=RunServers,
    ),
    Feature(
        "hooks",
        commands=later("hooks.commands:COMMANDS"),
        checks=later("hooks.report:rows"),
        report=later("hooks.report:lines"),
        definitions=later("hooks.loaded:definitions"),
        started=later("hooks.loaded:started"),
        hooks=found_hooks,
    ),
    Feature("project rules", checks=later("program.project_rules:rows")),
    Feature("checkpoints", commands=later("ui.commands.built_in:CHECKPOINTS")),
    Feature("instructions", commands=later("ui.commands.built_in:INSTRUCTIONS")),
    Feature("changes", commands=later("ui.commands.built_in:CHANGES")),
    Feature("goal", commands=later("goal.commands:COMMANDS"), session=_goal),
    Feature("timers", commands=later("timers.commands:COMMANDS"), session=_timers),
    Feature(
        "checks",
        commands=later("checks.commands:COMMANDS"),
        checks=later("checks.report:rows"),
        report=later("checks.report:lines"),
        session=_session_of("checks", _if_checks("checks.session:session_feature")),
        definitions=_if_checks("checks.configured:definitions"),
        started=_if_checks("checks.configured:started"),
    ),
    Feature("side questions", commands=later("side_question.commands:COMMANDS")),
    Feature(
        "language servers",
        registry.LSP,
        checks=_if_lsp("lsp.report:rows"),
        session=_session_of("language servers", _if_lsp("lsp.session:session_feature")),
        definitions=_if_lsp("lsp.configured:definitions"),
        started=_if_lsp("lsp.configured:started"),
        offers=lambda program: program.config[General].lsp and program.trusted,
    ),
    Feature(
        "opentelemetry",
        checks=_if_otel("otel.report:rows"),
        session=_session_of("opentelemetry", _if_otel("otel.session:session_feature")),
    ),
    Feature("output schema", wraps=_output_schema),
    Feature("remote", commands=later("ui.commands.built_in:REMOTE")),
    Feature("importers", checks=lambda program: annex("check of other programs")(program)),
    Feature("terminal", commands=later("ui.commands.built_in:TERMINAL")),
)

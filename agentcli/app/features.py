"""The features of the program, in one list. Tools, slash commands, `doctor`'s checks and parts of the system prompt come in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionFeature
from agentcli.annexes import annex
from agentcli.app.feature import CheckedProgram, Feature, Row, later
from agentcli.core.event import Event, TurnEnded
from agentcli.tools import registry

USUAL_FROM = 4
"""Turns of a session after which there is a usual cost of a turn."""


def _goal(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    return SessionFeature(
        "goal",
        follow=partial(later("goal.session:follow"), core),
        notes=partial(later("goal.session:notes"), core),
    )


def _timers(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    is_due = later("timers.session:is_due")
    return SessionFeature(
        "timers",
        follow=partial(later("timers.session:follow"), core),
        is_due=lambda: "timers" in core.journal.history.features and is_due(core),
        due=partial(later("timers.session:due"), core),
        notes=partial(later("timers.session:notes"), core),
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
    folders = program.config.general.accounts
    found: Iterable[Row] = later("accounts.report:rows")(program, folders) if folders else ()
    return found


def _mcp(_: CheckedProgram, core: SessionCore) -> SessionFeature:
    made: SessionFeature = later("mcp.session:session_feature")(core)
    return made


def _if_checks(place: str) -> Callable[..., Any]:
    """Return what calls a function of the checks, and imports nothing of them in a run without any."""
    return lambda program, *more: later(place)(program, *more) if program.config.general.checks else ()


def _checks(program: CheckedProgram, core: SessionCore) -> SessionFeature:
    made: SessionFeature | tuple[()] = _if_checks("checks.session:session_feature")(program, core)
    return made or SessionFeature("checks")


def _if_lsp(place: str) -> Callable[..., Any]:
    """Return what calls a function of the language servers, if they are on."""
    return lambda program, *more: later(place)(program, *more) if program.config.general.lsp else ()


def _lsp(program: CheckedProgram, core: SessionCore) -> SessionFeature:
    made: SessionFeature | tuple[()] = _if_lsp("lsp.session:session_feature")(program, core)
    return made or SessionFeature("language servers")


def _if_otel(place: str) -> Callable[..., Any]:
    """Return what calls a function of the telemetry, if the environment asks for it."""
    return lambda program, *more: later(place)(program, *more) if program.given_env.get("AGENTCLI_OTEL") else ()


def _otel(program: CheckedProgram, core: SessionCore) -> SessionFeature:
    made: SessionFeature | tuple[()] = _if_otel("otel.session:session_feature")(program, core)
    return made or SessionFeature("opentelemetry")


def _if_search(place: str) -> Callable[..., Any]:
    """Return what calls a function of the web search, if it is on."""
    return lambda program, *more: later(place)(program, *more) if program.config.tools.web_search != "off" else ()


def _web_search(program: CheckedProgram, core: SessionCore) -> SessionFeature:
    made: SessionFeature | tuple[()] = _if_search("web_search.session:session_feature")(program, core)
    return made or SessionFeature("web search")


FEATURES: Sequence[Feature] = (
    Feature("conversation", commands=later("ui.commands.built_in:CONVERSATION")),
    Feature("cost", commands=later("costs.commands:COMMANDS"), session=_cost),
    Feature("accounts", commands=later("accounts.commands:COMMANDS"), checks=_if_accounts),
    Feature("files", registry.FILES),
    Feature("shell", registry.SHELL, commands=later("ui.commands.built_in:JOBS")),
    Feature("todo", registry.TODO, commands=later("ui.commands.built_in:TODO")),
    Feature("recall", registry.RECALL),
    Feature("questions", registry.QUESTIONS),
    Feature("plan mode", registry.PLAN),
    Feature("web", registry.WEB),
    Feature(
        "web search",
        registry.WEB_SEARCH,
        checks=lambda program: _if_search("web_search.report:rows")(program, program.config.tools.web_search),
        session=_web_search,
        offers=lambda program: program.config.tools.web_search != "off",
    ),
    Feature("subagents", registry.SUBAGENTS, checks=later("app.doctor_worktrees:worktree_rows")),
    Feature(
        "skills and commands",
        registry.SKILLS,
        commands=later("ui.commands.built_in:EXTENSIONS"),
        checks=later("app.checks:extension_rows"),
        prompt=later("app.system_prompt:catalogue_of"),
    ),
    Feature(
        "mcp",
        registry.MCP,
        commands=later("ui.commands.built_in:MCP"),
        checks=later("mcp.checks:server_rows"),
        session=_mcp,
        definitions=later("mcp.run_servers:project_servers"),
        started=lambda program: program.servers.started(),
    ),
    Feature(
        "hooks",
        commands=later("ui.commands.built_in:HOOKS"),
        checks=later("app.checks:hook_rows"),
        report=later("hooks.report:lines"),
        definitions=later("hooks.loaded:definitions"),
        started=later("hooks.loaded:started"),
    ),
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
        session=_checks,
        definitions=_if_checks("checks.configured:definitions"),
        started=_if_checks("checks.configured:started"),
    ),
    Feature("side questions", commands=later("side_question.commands:COMMANDS")),
    Feature(
        "language servers",
        registry.LSP,
        checks=_if_lsp("lsp.report:rows"),
        session=_lsp,
        definitions=_if_lsp("lsp.configured:definitions"),
        started=_if_lsp("lsp.configured:started"),
        offers=lambda program: program.config.general.lsp,
    ),
    Feature("opentelemetry", checks=_if_otel("otel.report:rows"), session=_otel),
    Feature("remote", commands=later("serve.commands:COMMANDS")),
    Feature("importers", checks=lambda program: annex("check of other programs")(program)),
    Feature("terminal", commands=later("ui.commands.built_in:TERMINAL")),
)

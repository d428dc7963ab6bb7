"""The features of the program, in one list. Tools, slash commands, `doctor`'s checks and parts of the system prompt come in its order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionFeature
from agentcli.agent.ports import Prompt
from agentcli.app.feature import CheckedProgram, Feature, Row
from agentcli.core.event import Event, TurnEnded
from agentcli.core.model import ModelSpec
from agentcli.tools import registry

if TYPE_CHECKING:
    from agentcli.ui.commands.definition import Command


def _conversation() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import CONVERSATION

    return CONVERSATION


def _jobs() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import JOBS

    return JOBS


def _todo() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import TODO

    return TODO


def _worktrees(program: CheckedProgram) -> Iterable[Row]:
    from agentcli.app.doctor_worktrees import worktree_rows

    return worktree_rows(program)


def _extensions() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import EXTENSIONS

    return EXTENSIONS


def _extension_rows(program: CheckedProgram) -> Iterable[Row]:
    from agentcli.app.checks import extension_rows

    return extension_rows(program)


def _catalogue(program: CheckedProgram, model: ModelSpec) -> str:
    from agentcli.extensions.discover import catalogue

    found, small = program.extensions, program.agent_settings.is_small(model.window)
    agents = found.agents if program.config.agent.subagents and not small else {}
    return catalogue(found.skills, agents, model.window)


def _mcp() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import MCP

    return MCP


def _server_rows(program: CheckedProgram) -> Iterable[Row]:
    from agentcli.mcp.checks import server_rows

    return server_rows(program)


def _servers_of(core: SessionCore) -> SessionFeature:
    from agentcli.mcp.session import session_feature

    return session_feature(core)


def _hooks() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import HOOKS

    return HOOKS


def _hook_rows(program: CheckedProgram) -> Iterable[Row]:
    from agentcli.app.checks import hook_rows

    return hook_rows(program)


def _checkpoints() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import CHECKPOINTS

    return CHECKPOINTS


def _instructions() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import INSTRUCTIONS

    return INSTRUCTIONS


def _changes() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import CHANGES

    return CHANGES


def _goal() -> Sequence[Command]:
    from agentcli.goal.commands import goal

    return [goal]


def _goal_of(core: SessionCore) -> SessionFeature:
    def follow(ended: TurnEnded, interrupt: asyncio.Event) -> AsyncIterator[Event | Prompt]:
        from agentcli.goal.session import follow

        return follow(core, ended, interrupt)

    def notes() -> Sequence[str]:
        from agentcli.goal.session import notes

        return notes(core)

    return SessionFeature("goal", follow=follow, notes=notes)


def _import_rows(program: CheckedProgram) -> Iterable[Row]:
    from agentcli.annexes import annex

    return cast("Iterable[Row]", annex("check of other programs")(program))


def _terminal() -> Sequence[Command]:
    from agentcli.ui.commands.built_in import TERMINAL

    return TERMINAL


FEATURES: Sequence[Feature] = (
    Feature("conversation", commands=_conversation),
    Feature("files", registry.FILES),
    Feature("shell", registry.SHELL, commands=_jobs),
    Feature("todo", registry.TODO, commands=_todo),
    Feature("recall", registry.RECALL),
    Feature("questions", registry.QUESTIONS),
    Feature("plan mode", registry.PLAN),
    Feature("web", registry.WEB),
    Feature("subagents", registry.SUBAGENTS, checks=_worktrees),
    Feature("skills and commands", registry.SKILLS, _extensions, _extension_rows, _catalogue),
    Feature("mcp", registry.MCP, _mcp, _server_rows, session=_servers_of),
    Feature("hooks", commands=_hooks, checks=_hook_rows),
    Feature("checkpoints", commands=_checkpoints),
    Feature("instructions", commands=_instructions),
    Feature("changes", commands=_changes),
    Feature("goal", commands=_goal, session=_goal_of),
    Feature("importers", checks=_import_rows),
    Feature("terminal", commands=_terminal),
)

"""The features of the program, in one list. Tools, slash commands, `doctor`'s checks and parts of the system prompt come in its order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.frontends.packages import (
    Accounts,
    Checks,
    Costs,
    Goal,
    Hooks,
    LanguageServers,
    Mcp,
    OpenTelemetry,
    OutputSchema,
    SideQuestions,
    Timers,
    WakeOn,
    WebSearch,
)
from agentcli.program import project_rules
from agentcli.program.extras import extra
from agentcli.program.feature import CheckedProgram, Feature, Row
from agentcli.tools import registry

if TYPE_CHECKING:
    from agentcli.core.model import ModelSpec
    from agentcli.program.commands import Command


class Conversation(Feature):
    name = "conversation"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CONVERSATION

        return CONVERSATION


class Files(Feature):
    name = "files"
    tools = registry.FILES


class Shell(Feature):
    name = "shell"
    tools = registry.SHELL

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import JOBS

        return JOBS


class Todo(Feature):
    name = "todo"
    tools = registry.TODO

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import TODO

        return TODO


class Recall(Feature):
    name = "recall"
    tools = registry.RECALL


class Questions(Feature):
    name = "questions"
    tools = registry.QUESTIONS


class PlanMode(Feature):
    name = "plan mode"
    tools = registry.PLAN


class Web(Feature):
    name = "web"
    tools = registry.WEB


class Subagents(Feature):
    name = "subagents"
    tools = registry.SUBAGENTS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        from agentcli.program.doctor_worktrees import worktree_rows

        return worktree_rows(program)


class Extensions(Feature):
    name = "skills and commands"
    tools = registry.SKILLS

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import EXTENSIONS

        return EXTENSIONS

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        from agentcli.frontends.extension_checks import extension_rows

        return extension_rows(program)

    def prompt(self, program: CheckedProgram, model: ModelSpec) -> str:
        from agentcli.program.system_prompt import catalogue_of

        return catalogue_of(program, model)

    def session(self, program: CheckedProgram, core: SessionCore) -> SessionPart | None:
        from agentcli.program.extensions.session import ExtensionsSession

        return ExtensionsSession(core)

    def refuse(self, program: CheckedProgram, text: str, own: str) -> None:
        """Refuse a prompt that may name a command or a skill of a folder that is not trusted."""
        if (text.startswith("/") or "$" in own) and not program.trusted:
            from agentcli.program.extensions.unread import refuse

            refuse(text, own, program.cwd, program.extensions)


class ProjectRules(Feature):
    name = "project rules"

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        return project_rules.rows(program)


class Checkpoints(Feature):
    name = "checkpoints"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CHECKPOINTS

        return CHECKPOINTS


class Instructions(Feature):
    name = "instructions"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import INSTRUCTIONS

        return INSTRUCTIONS


class Changes(Feature):
    name = "changes"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CHANGES

        return CHANGES


class Remote(Feature):
    name = "remote"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import REMOTE

        return REMOTE


class Importers(Feature):
    name = "importers"

    def checks(self, program: CheckedProgram) -> Iterable[Row]:
        rows: Iterable[Row] = extra("check of other programs")(program)
        return rows


class InTerminal(Feature):
    name = "terminal"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import TERMINAL

        return TERMINAL


FEATURES: Sequence[Feature] = (
    Conversation(),
    Costs(),
    Accounts(),
    Files(),
    Shell(),
    WakeOn(),
    Todo(),
    Recall(),
    Questions(),
    PlanMode(),
    Web(),
    WebSearch(),
    Subagents(),
    Extensions(),
    Mcp(),
    Hooks(),
    ProjectRules(),
    Checkpoints(),
    Instructions(),
    Changes(),
    Goal(),
    Timers(),
    Checks(),
    SideQuestions(),
    LanguageServers(),
    OpenTelemetry(),
    OutputSchema(),
    Remote(),
    Importers(),
    InTerminal(),
)

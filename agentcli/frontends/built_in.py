"""Features of the program itself: built-in tools, and slash commands of the front ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentcli.agent.settings import AgentSettings
from agentcli.core.errors import InputError
from agentcli.core.tool import ToolLimits
from agentcli.features.extensions import BuiltIn
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.program.config.general import General
from agentcli.program.feature import Feature
from agentcli.program.project_rules import rows
from agentcli.program.prompt_files.discover import catalogue
from agentcli.program.prompt_files.session import PromptFilesSession
from agentcli.tools import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.core.model import ModelSpec
    from agentcli.program.command import Command
    from agentcli.program.feature import Row
    from agentcli.program.program import Program
    from agentcli.tools.entry import Entry


LARGEST_SCHEMA = 200_000
"""Maximum bytes of an output schema: it is sent with the prompt."""


class Conversation(Feature[object]):
    name = "conversation"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CONVERSATION

        return CONVERSATION


class Files(Feature[object]):
    name = "files"

    def tools(self) -> Sequence[Entry]:
        return registry.FILES


class Shell(Feature[object]):
    name = "shell"

    def tools(self) -> Sequence[Entry]:
        return registry.SHELL

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import JOBS

        return JOBS


class Todo(Feature[object]):
    name = "todo"

    def tools(self) -> Sequence[Entry]:
        return registry.TODO

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import TODO

        return TODO


class CostLine(BuiltIn):
    name = "cost line"
    events = ("turn_end",)
    from_turn = 5

    def module(self) -> ModuleType:
        from agentcli.features.cost_line import extension

        return extension


class OutputSchema(BuiltIn):
    name = "output schema"
    wraps_turns = True

    def on(self, program: Program) -> bool:
        return bool(program.options.output_schema)

    def settings(self, program: Program) -> Mapping[str, Any]:
        return {"text": schema_text(program.options.output_schema)}

    def module(self) -> ModuleType:
        from agentcli.features.output_schema import extension

        return extension


def schema_text(given: str) -> str:
    """Return the text of a schema in a file, or a text that is JSON itself. Raises InputError."""
    if given.lstrip().startswith("{"):
        return given
    from agentcli.system.regular_file import Missing, Unusable, read_text

    try:
        return read_text(Path(given).expanduser(), LARGEST_SCHEMA)
    except Missing as error:
        raise InputError(f"There is no file {given} for --output-schema.") from error
    except Unusable as error:
        raise InputError(f"Can't read the output schema {given}: {error}.") from error


class SideQuestions(BuiltIn):
    name = "side questions"

    def module(self) -> ModuleType:
        from agentcli.features.side_question import extension

        return extension


class StatusCommand(BuiltIn):
    name = "status command"
    events = ("status",)

    def on(self, program: Program) -> bool:
        return bool(program.config[UiSettings].status_command)

    def settings(self, program: Program) -> Mapping[str, Any]:
        return {"command": program.config[UiSettings].status_command}

    def module(self) -> ModuleType:
        from agentcli.features.status_command import extension

        return extension


class Recall(Feature[object]):
    name = "recall"

    def tools(self) -> Sequence[Entry]:
        return registry.RECALL


class Accounts(Feature["Program"]):
    name = "accounts"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.accounts.commands import COMMANDS

        return COMMANDS

    def checks(self, program: Program) -> Iterable[Row]:
        folders = program.config[General].accounts
        if not folders:
            return ()
        from agentcli.features.accounts.commands import rows

        return rows(program, folders)


class Scripts(Feature["Program"]):
    name = "scripts"

    def tools(self) -> Sequence[Entry]:
        return registry.SCRIPTS

    def offers(self, program: Program) -> bool:
        """Return whether sessions may list the tool: without bubblewrap a script could do more than its tools."""
        return program.config[ToolLimits].scripts != "off" and program.workspace_policy.sandbox.kind == "bubblewrap"

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        setup = core.setup
        if setup.servers is None and setup.settings.limits.scripts != "on":
            return None
        if not any(tool.traits.behaviour.calls_tools for tool in setup.tools.offered):
            return None
        from agentcli.features.scripts.session import ScriptsSession

        return ScriptsSession(core, program.workspace_policy.sandbox)


class Compress(Feature[object]):
    name = "compress"

    def tools(self) -> Sequence[Entry]:
        return registry.COMPRESS


class Questions(Feature[object]):
    name = "questions"

    def tools(self) -> Sequence[Entry]:
        return registry.QUESTIONS


class PlanMode(Feature[object]):
    name = "plan mode"

    def tools(self) -> Sequence[Entry]:
        return registry.PLAN


class Web(Feature[object]):
    name = "web"

    def tools(self) -> Sequence[Entry]:
        return registry.WEB


class Subagents(Feature["Program"]):
    name = "subagents"

    def tools(self) -> Sequence[Entry]:
        return registry.SUBAGENTS

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.program.doctor_worktrees import worktree_rows

        return worktree_rows(program)


class PromptFiles(Feature["Program"]):
    name = "skills and commands"

    def tools(self) -> Sequence[Entry]:
        return registry.SKILLS

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import PROMPT_FILES

        return PROMPT_FILES

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.frontends.commands.prompt_file_checks import extension_rows

        return extension_rows(program)

    def prompt(self, program: Program, model: ModelSpec) -> str:
        """List the skills and agents of a session that begins with a model; agents only if it can start them."""
        found, small = program.prompt_files, program.agent_settings.is_small(model.window)
        agents = found.agents if program.config[AgentSettings].subagents and not small else {}
        return catalogue(found.skills, agents, model.window)

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        return PromptFilesSession(core)

    def refuse(self, program: Program, text: str, own: str) -> None:
        """Refuse a prompt with a possible command or skill of an untrusted folder."""
        if (text.startswith("/") or "$" in own) and not program.trusted:
            from agentcli.program.prompt_files.mentions import refuse

            refuse(text, own, program.cwd, program.prompt_files)


class ProjectRules(Feature["Program"]):
    name = "project rules"

    def checks(self, program: Program) -> Iterable[Row]:
        return rows(program, program.traits)


class Checkpoints(Feature[object]):
    name = "checkpoints"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CHECKPOINTS

        return CHECKPOINTS


class AgentsFile(BuiltIn):
    name = "agents file"
    group = "Context"
    prompts: ClassVar[Mapping[str, str]] = {"instructions": "init.md"}

    def module(self) -> ModuleType:
        from agentcli.features.agents_file import extension

        return extension


class Instructions(Feature[object]):
    name = "instructions"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import INSTRUCTIONS

        return INSTRUCTIONS


class Changes(Feature[object]):
    name = "changes"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import CHANGES

        return CHANGES


class Remote(Feature[object]):
    name = "remote"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import REMOTE

        return REMOTE


class Importers(Feature["Program"]):
    name = "importers"

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.program.extras import extra

        rows: Iterable[Row] = extra("check of other programs")(program)
        return rows


class InTerminal(Feature[object]):
    name = "terminal"

    def commands(self) -> Sequence[Command]:
        from agentcli.frontends.commands.built_in import TERMINAL

        return TERMINAL

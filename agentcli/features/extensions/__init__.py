"""Extensions: Python files of the user, of a project and of packages that add tools, commands and handlers of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature
from agentcli.system import probe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.features.extensions.run import LoadedRun
    from agentcli.program.command import Command, Group
    from agentcli.program.definition import Definition
    from agentcli.program.feature import FoundHooks, RunPart
    from agentcli.program.program import Program


class BuiltIn(Feature["Program"]):
    """A feature written as an extension: its code knows nothing of ours but `agentcli.extension`.

    The module is imported once a slash command is looked for.
    """

    group: Group = "Work"
    """Group of its slash commands in /help."""

    def module(self) -> ModuleType:
        """Import and return its module."""
        raise NotImplementedError

    def commands(self) -> Sequence[Command]:
        from agentcli.features.extensions.built_in import commands_of, extension_of

        return commands_of(extension_of(self.name, self.module()), self.group)


class PythonExtensions(Feature["Program"]):
    name = "extensions"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.extensions.commands import COMMANDS

        return COMMANDS

    def part(self, program: Program) -> RunPart | None:
        return _loaded(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        loaded = _loaded(program)
        if loaded is None:
            return None
        from agentcli.features.extensions.part import ExtensionsSession

        return ExtensionsSession(loaded, core)

    def hooks(self, program: Program) -> FoundHooks | None:
        if _loaded(program) is None:
            return None
        from agentcli.features.extensions.hooks import ExtensionHooks
        from agentcli.program.feature import FoundHooks

        return FoundHooks(around=ExtensionHooks)

    def definitions(self, program: Program) -> Iterable[Definition]:
        loaded = _loaded(program)
        return loaded.definitions() if loaded is not None else ()


def _loaded(program: Program) -> LoadedRun | None:
    """Return the extensions of a run; None if no folder and no flag may hold one. Then nothing is imported."""
    if program.options.no_extensions:
        return None
    if not program.options.extensions and not probe.is_dir(program.dirs.config / "extensions"):
        from agentcli.program.files import project_files

        if not project_files(program.cwd, [".agentcli/extensions"]).paths:
            return None
    from agentcli.features.extensions.run import run_of

    return run_of(program)

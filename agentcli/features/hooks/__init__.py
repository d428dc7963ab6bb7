"""Hooks: commands of the user, of plugins and of projects that run at events of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.permissions.started import Started
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import FoundHooks, Row
    from agentcli.program.program import Program


class Hooks(Feature["Program"]):
    name = "hooks"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.hooks.commands import COMMANDS

        return COMMANDS

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.features.hooks.commands import rows

        return rows(program)

    def hooks(self, program: Program) -> FoundHooks:
        from agentcli.features.hooks.loaded import found_hooks

        return found_hooks(program)

    def definitions(self, program: Program) -> Iterable[Definition]:
        from agentcli.features.hooks.loaded import definitions

        return definitions(program)

    def started(self, program: Program) -> Iterable[Started]:
        from agentcli.features.hooks.loaded import started

        return started(program)

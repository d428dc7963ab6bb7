"""Checks of edits: commands by glob, and language servers.

Their new findings go to the model with the edit's result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.config.general import General
from agentcli.program.feature import Feature
from agentcli.tools.registry import LSP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.permissions.started import Started
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import Row
    from agentcli.program.program import Program
    from agentcli.tools.entry import Entry


class Checks(Feature["Program"]):
    name = "checks"

    def on(self, program: Program) -> bool:
        general = program.config[General]
        return bool(general.checks) or general.lsp

    def tools(self) -> Sequence[Entry]:
        return LSP

    def offers(self, program: Program) -> bool:
        return program.config[General].lsp and program.trusted

    def commands(self) -> Sequence[Command]:
        from agentcli.features.checks.commands import COMMANDS

        return COMMANDS

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.features.checks.commands import rows

        return rows(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart:
        from agentcli.features.checks.session import ChecksSession

        return ChecksSession(program, core)

    def definitions(self, program: Program) -> Iterable[Definition]:
        from agentcli.features.checks.configured import definitions

        return definitions(program)

    def started(self, program: Program) -> Iterable[Started]:
        from agentcli.features.checks.configured import started

        return started(program)

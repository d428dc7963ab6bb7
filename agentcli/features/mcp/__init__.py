"""MCP servers: their tools, prompts and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.permissions.started import Started
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import Row, RunPart
    from agentcli.program.program import Program
    from agentcli.tools.entry import Entry


class Mcp(Feature["Program"]):
    name = "mcp"

    def tools(self) -> Sequence[Entry]:
        from agentcli.tools.registry import MCP

        return MCP

    def commands(self) -> Sequence[Command]:
        from agentcli.features.mcp.commands import COMMANDS

        return COMMANDS

    def checks(self, program: Program) -> Iterable[Row]:
        from agentcli.features.mcp.commands import server_rows

        return server_rows(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        if core.setup.servers is None:
            return None
        from agentcli.features.mcp.session import McpSession
        from agentcli.program.config.general import McpSettings

        return McpSession(core, core.setup.servers, program.config[McpSettings])

    def part(self, program: Program) -> RunPart:
        from agentcli.features.mcp.run import McpRun

        return McpRun(program)

    def definitions(self, program: Program) -> Iterable[Definition]:
        from agentcli.features.mcp.run import run_of

        return run_of(program).definitions()

    def started(self, program: Program) -> Iterable[Started]:
        from agentcli.features.mcp.run import run_of

        return run_of(program).started()

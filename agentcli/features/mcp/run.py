"""MCP servers of a run. If nothing defines a server, nothing else of this package is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentcli.features.mcp.names import PROJECT_FILES, USER_FILE
from agentcli.program.feature import RunPart
from agentcli.program.files import project_files
from agentcli.program.trust import not_read
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.features.mcp.run_servers import RunServers
    from agentcli.features.mcp.servers import McpServers
    from agentcli.permissions.started import Started
    from agentcli.program.definition import Definition
    from agentcli.program.program import Program


class McpRun(RunPart):
    """What the feature keeps for a run: its servers, on demand."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._made: RunServers | None = None

    @property
    def all(self) -> RunServers:
        """Servers of the run, possibly none."""
        if self._made is None:
            from agentcli.features.mcp.run_servers import RunServers

            self._made = RunServers(self._program)
        return self._made

    @property
    def _may_be_some(self) -> bool:
        """True if a file, a plugin, an option or an editor may define a server."""
        program = self._program
        if self._made is not None or program.options.mcp_config or program.plugins[0]:
            return True
        files = project_files(program.cwd, PROJECT_FILES)
        return bool(files.paths or files.notes) or probe.exists(program.dirs.config / USER_FILE)

    def start(self) -> None:
        if self._may_be_some:
            self.all.start()

    def servers(self) -> McpServers | None:
        return self.all.connected() if self._may_be_some else None

    def started(self) -> Sequence[Started]:
        """Return the command lines of the servers that may be started."""
        return self.all.started() if self._may_be_some else ()

    def definitions(self) -> Sequence[Definition]:
        """Return the servers that the project's files would start."""
        return self.all.of_project() if self._may_be_some else ()

    def notes(self) -> Sequence[str]:
        return self.all.notes() if self._may_be_some else ()

    def unread(self) -> str:
        if self._may_be_some:
            return self.all.unread()
        return "" if self._program.trusted else not_read(self._program.cwd)

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def run_of(program: Program) -> McpRun:
    """Return the part of a run."""
    found = program.part(McpRun)
    assert found is not None  # only the feature itself, and a program with it, use this
    return found


def servers_of(program: Program) -> RunServers:
    """Return the servers of a run."""
    return run_of(program).all

"""Ports of this front end to the program: projects that an editor opens, and the sessions in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentcli.core.dataclass import dataclass

if TYPE_CHECKING:
    from agentcli.agent.ports import Approve, AskUser, TextEditor
    from agentcli.agent.session import AgentSession
    from agentcli.sessions.info import SessionInfo


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """The project of a session as an editor names it: its folder, more roots, and MCP servers by name as in `.mcp.json`."""

    cwd: Path
    directories: tuple[Path, ...] = ()
    servers: Mapping[str, Mapping[str, Any]] | None = None


class Project(Protocol):
    """The program in one folder, for one session."""

    def new(self) -> AgentSession:
        """Create a session."""
        ...

    def open(self, session_id: str) -> AgentSession:
        """Open a session by its id. Raises InputError for one that does not exist, SessionBusy for one that is open elsewhere."""
        ...

    def fork(self, session_id: str) -> AgentSession:
        """Open an independent copy of a session."""
        ...

    def models(self) -> Sequence[str]:
        """Names of the models that can be connected, without asking anybody."""
        ...

    def unloaded(self) -> Sequence[str]:
        """Files that trusting the folder would load, one line each."""
        ...

    async def close(self) -> None:
        """End the MCP servers of the session, and give back the connections of its models."""
        ...

    @property
    def sandboxed(self) -> bool:
        """True if commands can be sandboxed here."""
        ...


class Host(Protocol):
    """The program around all sessions of a connection."""

    def project(
        self, request: ProjectRequest, approve: Approve, ask: AskUser, editor: TextEditor | None = None
    ) -> Project:
        """Prepare the program for a folder; `editor` is given where it lets its buffers be read. Raises AgentError for configuration that is wrong."""
        ...

    def sessions(self, cwd: Path | None) -> Sequence[SessionInfo]:
        """Stored sessions, last written first: those led in a folder, or all."""
        ...

"""Ports of this front end to the program: projects that an editor opens, and the sessions in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.ui.host import Reports

if TYPE_CHECKING:
    from agentcli.agent.ports import Approve, AskUser, TextEditor
    from agentcli.agent.session import AgentSession
    from agentcli.core.history import History
    from agentcli.sessions.info import SessionInfo
    from agentcli.ui.commands.registry import SlashCommands


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """Project of a session as an editor names it: its folder, more roots, and MCP servers by name as in `.mcp.json`."""

    cwd: Path
    directories: tuple[Path, ...] = ()
    servers: Mapping[str, Mapping[str, Any]] | None = None


class Project(Reports, Protocol):
    """The program in one folder, for one session; slash commands show its reports."""

    @property
    def commands(self) -> SlashCommands:
        """The slash commands of the program."""
        ...

    def new(self) -> AgentSession:
        """Create a session."""
        ...

    def open(self, session_id: str) -> AgentSession:
        """Open a session by its id. Raise InputError if it does not exist, SessionBusy if it is open elsewhere."""
        ...

    def fork(self, session_id: str) -> AgentSession:
        """Open an independent copy of a session."""
        ...

    def models(self) -> Sequence[str]:
        """Return the names of the models that can be connected, without a network request."""
        ...

    def unloaded(self) -> Sequence[str]:
        """Return the files that trusting the folder would load, one line each."""
        ...

    async def close(self) -> None:
        """End the MCP servers of the session, and release the connections of its models."""
        ...

    @property
    def sandboxed(self) -> bool:
        """True if commands can be sandboxed here."""
        ...


class Elsewhere(Protocol):
    """A session that is open in another program and shared."""

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    def history(self, known: History | None = None) -> History:
        """Return the state of the session as it is stored; `known` is what was read before."""
        ...

    def events(self, after: int) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the events after a record without an end, as other programs get them, each once and in order; see `agentcli.serve.following`."""
        ...

    async def request(self, **asked: Any) -> Mapping[str, Any]:
        """Send a request. Raise AgentError if the session is no longer shared, or does not answer."""
        ...

    def clean(self, text: str) -> str:
        """Return a text without secrets."""
        ...


class Host(Protocol):
    """The program around all sessions of a connection."""

    @property
    def attach(self) -> str:
        """The shared session to which new sessions of this connection lead; empty for none."""
        ...

    def elsewhere(self, session_id: str) -> Elsewhere | None:
        """Return a session that another program has open and shares; None if there is none."""
        ...

    def project(
        self, request: ProjectRequest, approve: Approve, ask: AskUser, editor: TextEditor | None = None
    ) -> Project:
        """Prepare the program for a folder; `editor` is set if its buffers can be read. Raise AgentError for wrong configuration."""
        ...

    def sessions(self, cwd: Path | None) -> Sequence[SessionInfo]:
        """Return the stored sessions of a folder, or all of them, last written first."""
        ...

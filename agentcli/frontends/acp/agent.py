"""The agent's side of the protocol: one method for each request of a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)

from agentcli import __version__
from agentcli.agent.ports import Approve, AskUser, TextEditor
from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError
from agentcli.core.tasks import run_beside
from agentcli.frontends.acp import options
from agentcli.frontends.acp.attached import CHOSEN_THERE, AttachedSession
from agentcli.frontends.acp.buffers import Offers
from agentcli.frontends.acp.errors import BUSY, INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, answered
from agentcli.frontends.acp.host import EditorHost, EditorProject, ProjectRequest
from agentcli.frontends.acp.prompts import Block
from agentcli.frontends.acp.session import EditorSession
from agentcli.system import probe

SESSIONS = 20
"""Largest number of open sessions of one connection."""
PAGE = 50
"""Number of sessions in one answer."""

Server = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
Open = Callable[[EditorProject], AgentSession]


class EditorAgent:
    """The agent that a client talks to."""

    def __init__(self, host: EditorHost, most: int = SESSIONS) -> None:
        self._host, self._most = host, most
        self._client: Client | None = None
        self._offers = Offers()
        self._open: dict[str, EditorSession | AttachedSession] = {}

    def on_connect(self, conn: Client) -> None:
        """Store the client."""
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        """Return version and capabilities. Keys come from the environment: the client cannot authenticate."""
        if client_capabilities is not None:
            self._offers = offers_of(client_capabilities)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="agentcli", title="agentcli", version=__version__),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                    fork=SessionForkCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Server] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        """Begin a session in a folder, or attach to the session that the command line specifies."""
        if self._host.attach:
            attached = await self._attached(self._host.attach)
            if attached is None:
                raise RequestError(
                    NOT_FOUND, f"Session {self._host.attach} is not shared. `/remote on` in its terminal shares it."
                )
            run_beside(attached.announce(replays=True))
            return NewSessionResponse(session_id=attached.id)
        opened = await self._opened(cwd, additional_directories, mcp_servers, lambda project: project.new())
        return NewSessionResponse(session_id=opened.id, modes=opened.modes, config_options=opened.config_options)

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Server] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Open a stored session, or attach to it if another program shares it; replay it."""
        if attached := await self._attached(session_id):
            await attached.replay()
            run_beside(attached.announce())
            return LoadSessionResponse()
        opened = await self._reopened(session_id, cwd, additional_directories, mcp_servers)
        await opened.replay()
        return LoadSessionResponse(modes=opened.modes, config_options=opened.config_options)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Server] | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        """Do the same without a replay: the client has the messages already."""
        if attached := await self._attached(session_id):
            run_beside(attached.announce())
            return ResumeSessionResponse()
        opened = await self._reopened(session_id, cwd, additional_directories, mcp_servers)
        return ResumeSessionResponse(modes=opened.modes, config_options=opened.config_options)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Server] | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        """Open an independent copy of a session."""

        def fork(project: EditorProject) -> AgentSession:
            return _found(project.fork, session_id)

        opened = await self._opened(cwd, additional_directories, mcp_servers, fork)
        return ForkSessionResponse(session_id=opened.id, modes=opened.modes, config_options=opened.config_options)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the stored sessions of a folder, or all; the cursor is the last id of the previous page."""
        with answered():
            infos = self._host.sessions(folder(cwd) if cwd else None)
        ids = [info.id for info in infos]
        if cursor and cursor not in ids:
            raise RequestError(INVALID_PARAMS, f"There is no page after {cursor!r}: list from the beginning.")
        start = ids.index(cursor) + 1 if cursor else 0
        page = infos[start : start + PAGE]
        listed = [
            SessionInfo(
                session_id=info.id,
                cwd=info.directory,
                title=info.name or info.title or None,
                updated_at=info.time.updated or None,
            )
            for info in page
        ]
        more = start + PAGE < len(infos)
        return ListSessionsResponse(sessions=listed, next_cursor=page[-1].id if more else None)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """End a session's turn and close the session; it stays stored."""
        await self._session(session_id).close()
        self._open.pop(session_id, None)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Switch the mode."""
        await self._switch(self._own(session_id), options.MODE, mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Change a setting."""
        session = self._own(session_id)
        await self._switch(session, config_id, str(value))
        return SetSessionConfigOptionResponse(config_options=session.config_options)

    async def prompt(self, session_id: str, prompt: Sequence[Block], **_: Any) -> PromptResponse:
        """Run a turn."""
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupt the turn of a session."""
        if opened := self._open.get(session_id):
            opened.cancel()

    async def close(self) -> None:
        """End all turns and sessions."""
        opened = [*self._open.values()]
        for session in opened:
            session.cancel()
        for session in opened:
            await session.close()
        self._open.clear()

    async def _switch(self, session: EditorSession, setting: str, value: str) -> None:
        offered = {
            option.id: [each.value for each in option.options if hasattr(each, "value")]
            for option in session.config_options
            if option.type == "select"
        }
        if setting not in offered:
            known = ", ".join(offered)
            raise RequestError(INVALID_PARAMS, f"Unknown setting {setting!r}. There are: {known}.")
        if value not in offered[setting] and setting != options.MODEL:
            known = ", ".join(offered[setting])
            raise RequestError(INVALID_PARAMS, f"There is no {setting} {value!r}. There are: {known}.")
        await session.switch(setting, value)

    def _own(self, session_id: str) -> EditorSession:
        session = self._session(session_id)
        if isinstance(session, AttachedSession):
            raise RequestError(INVALID_REQUEST, CHOSEN_THERE)
        return session

    def _session(self, session_id: str) -> EditorSession | AttachedSession:
        opened = self._open.get(session_id)
        if opened is None:
            raise RequestError(NOT_FOUND, f"Session {session_id} is not open here. Load or resume it first.")
        return opened

    async def _attached(self, session_id: str) -> AttachedSession | None:
        """Attach to a session that another program shares; return None if there is none."""
        found = self._host.elsewhere(session_id)
        if found is None:
            return None
        await self._let_go(session_id)
        self._leave_room()
        assert self._client is not None
        attached = self._open[session_id] = await AttachedSession.attach(self._client, self._offers, found)
        return attached

    async def _let_go(self, session_id: str) -> None:
        """Close a session that is about to be reopened. Raise RequestError while its turn runs."""
        opened = self._open.get(session_id)
        if opened is None:
            return
        if opened.working:
            raise RequestError(INVALID_REQUEST, BUSY)
        await self.close_session(session_id)

    def _leave_room(self) -> None:
        if len(self._open) >= self._most:
            raise RequestError(INVALID_REQUEST, f"{self._most} sessions are open: close one first.")

    async def _reopened(
        self, session_id: str, cwd: str, directories: list[str] | None, servers: Sequence[Server] | None
    ) -> EditorSession:
        await self._let_go(session_id)
        return await self._opened(cwd, directories, servers, lambda project: _found(project.open, session_id))

    async def _opened(
        self, cwd: str, directories: list[str] | None, servers: Sequence[Server] | None, opens: Open
    ) -> EditorSession:
        self._leave_room()
        request = ProjectRequest(folder(cwd), tuple(map(folder, directories or ())), servers_by_name(servers or ()))

        def opened(approve: Approve, ask: AskUser, editor: TextEditor | None) -> tuple[EditorProject, AgentSession]:
            project = self._host.project(request, approve, ask, editor)
            return project, opens(project)

        assert self._client is not None
        with answered():
            session = EditorSession(self._client, self._offers, (request.cwd, *request.directories), opened)
        self._open[session.id] = session
        # Runs after the answer, which contains the session's id.
        run_beside(session.announce())
        return session


def offers_of(capabilities: ClientCapabilities) -> Offers:
    """Return a client's capabilities that this front end uses."""
    elicitation, files = capabilities.elicitation, capabilities.fs
    return Offers(
        form=elicitation is not None and elicitation.form is not None,
        reads=files is not None and files.read_text_file is True,
        saves=files is not None and files.write_text_file is True,
    )


def folder(path: str) -> Path:
    """Return a client's folder. Raise RequestError if it is not absolute or does not exist."""
    if not path.startswith("/") or "\0" in path:
        raise RequestError(INVALID_PARAMS, f"{path!r} is not an absolute path.")
    if not probe.is_dir(Path(path)):
        raise RequestError(INVALID_PARAMS, f"{path} is not a folder.")
    return Path(path)


def servers_by_name(servers: Sequence[Server]) -> Mapping[str, Mapping[str, Any]]:
    """Return the client's MCP servers as entries of `mcpServers`, without servers that need a capability that we do not
    offer.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for server in servers:
        match server:
            case McpServerStdio():
                env = {variable.name: variable.value for variable in server.env}
                found[server.name] = {"type": "stdio", "command": server.command, "args": server.args, "env": env}
            case HttpMcpServer() | SseMcpServer():
                headers = {header.name: header.value for header in server.headers}
                found[server.name] = {"type": server.type, "url": server.url, "headers": headers}
            case _:
                pass
    return found


def _found(opens: Callable[[str], AgentSession], session_id: str) -> AgentSession:
    try:
        return opens(session_id)
    except InputError as error:
        raise RequestError(NOT_FOUND, str(error)) from error

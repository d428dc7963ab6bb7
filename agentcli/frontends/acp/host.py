"""The program behind an editor: a Program for each session, in the folder that the editor names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli.agent.buffers import EditorFiles
from agentcli.agent.ports import Approve, AskUser, TextEditor
from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass, replace
from agentcli.features.mcp.run import McpRun
from agentcli.frontends.acp.elsewhere import SharedElsewhere, machine_of, shared_elsewhere
from agentcli.frontends.commands.registry import SlashCommands, slash_commands
from agentcli.frontends.opening import program_of
from agentcli.program.front_end import FrontEnd, soon
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.project import TRUSTED
from agentcli.program.trust import is_trusted, what_it_would_load
from agentcli.providers.catalog import models
from agentcli.providers.connect import warm
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import is_subagent
from agentcli.system.paths import app_dirs

LISTED = 100
"""Maximum models of an endpoint's list: an editor shows them all in one menu."""


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """A session's project as an editor specifies it: its folder, more roots, and MCP servers by name as in `.mcp.json`."""

    cwd: Path
    directories: tuple[Path, ...] = ()
    servers: Mapping[str, Mapping[str, Any]] | None = None


class EditorHost:
    """The program around all sessions of an editor. `attach` is the shared session for new threads, if any."""

    def __init__(self, options: Options, env: Mapping[str, str] | None = None, attach: str = "") -> None:
        self._options, self.attach = options, attach
        self._env = os.environ if env is None else env

    def project(
        self, request: ProjectRequest, approve: Approve, ask: AskUser, editor: TextEditor | None = None
    ) -> EditorProject:
        """Return the program in a request's folder; `editor` is set if its buffers are readable.

        Raise AgentError for an invalid configuration.
        """
        directories = (*self._options.add_dirs, *map(str, request.directories))
        options = replace(self._options, cwd=str(request.cwd), add_dirs=directories)
        files = EditorFiles(editor) if editor is not None else None
        program = program_of(options, self._env, FrontEnd(approve, ask, files))
        # Servers sent by the person's editor need no approval.
        if request.servers and (run := program.part(McpRun)) is not None:
            run.all.add(request.servers, "the editor")
        return EditorProject(program)

    def sessions(self, cwd: Path | None) -> Sequence[SessionInfo]:
        """Return the stored sessions, last written first, except subagents' sessions."""
        store = Store(app_dirs(self._env).sessions)
        infos = store.list(store.project_id(cwd) if cwd else None)
        here = str(cwd.resolve()) if cwd else ""
        return [info for info in infos if not is_subagent(info) and (not here or info.directory == here)]

    def elsewhere(self, session_id: str) -> SharedElsewhere | None:
        """Return a session that another program shares; None if there is none."""
        dirs = app_dirs(self._env)
        return shared_elsewhere(machine_of(Store(dirs.sessions), dirs.state, self._env), session_id)


class EditorProject:
    """The program in one folder, for one session."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def commands(self) -> SlashCommands:
        """The slash commands that the program's features bring."""
        return slash_commands(self.program)

    def new(self) -> AgentSession:
        """Start a new session."""
        with self.program.preparing():
            return self._started(self.program.sessions.new())

    def open(self, session_id: str) -> AgentSession:
        """Open a stored session by its complete id.

        Raise InputError if it does not exist, SessionBusy if it is open elsewhere.
        """
        with self.program.preparing():
            return self._started(self.program.sessions.open(self._found(session_id)))

    def fork(self, session_id: str) -> AgentSession:
        """Open a copy of a session, in this folder."""
        program = self.program
        return self._started(
            program.sessions.open(program.store.fork(self._found(session_id), directory=program.cwd), "fork")
        )

    def models(self) -> Sequence[str]:
        """Return the names of the models that can be connected."""
        known = self.program.models
        configured = self.program.config.models
        names = dict.fromkeys((*(spec.name for spec in models()), *configured))
        listed = [
            spec.name
            for settings in known.with_lists
            for spec in islice(known.listed_specs(known.listed_by(settings.name)), LISTED)
        ]
        reached = {name.partition("/")[0]: name for name in listed}
        reachable = {provider for provider, name in reached.items() if known.obstacle(name) is None}
        ours = [name for name in names if known.obstacle(name) is None]
        return [*ours, *(name for name in listed if name.partition("/")[0] in reachable and name not in names)]

    def unloaded(self) -> Sequence[str]:
        """Files that trusting the folder would load; none in a trusted folder."""
        program = self.program
        if program.options.trust or is_trusted(program.cwd, program.dirs.state / TRUSTED):
            return []
        return [*map(str, what_it_would_load(program.cwd)), *program.running_its_code]

    async def close(self) -> None:
        """End the session's MCP servers, and release its models' connections."""
        await self.program.close()

    @property
    def sandboxed(self) -> bool:
        """True if commands can be sandboxed here."""
        return self.program.workspace_policy.sandbox.working

    def _found(self, session_id: str) -> SessionInfo:
        """Return a session by its complete id: an editor sends no name and no prefix."""
        return self.program.store.chosen(
            session_id, [info for info in self.program.store.list() if info.id == session_id]
        )

    def _started(self, session: AgentSession) -> AgentSession:
        """Return the session; start its servers and import its provider's SDK in the background, before the first prompt."""
        soon(warm, session.core.model.kind)
        self.program.start_parts()
        return session

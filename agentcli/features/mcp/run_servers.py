"""MCP servers of a run: which are configured, which of these may start, and their questions to the person."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import ConfigError, InputError
from agentcli.core.mcp_servers import Elicitation, ElicitedField, ServerState
from agentcli.core.text.words import instead
from agentcli.core.tool import Choice, Question
from agentcli.features.mcp.config import (
    Definitions,
    ServerDefinition,
    bundled_servers,
    definition,
    given_definitions,
    project_definitions,
    user_definitions,
)
from agentcli.features.mcp.names import server_prefix
from agentcli.features.mcp.server_login import authentication, to_renew
from agentcli.features.mcp.servers import McpServers, Surroundings
from agentcli.permissions.started import Started
from agentcli.program.definition import Definition
from agentcli.program.program import Program
from agentcli.program.project import Project
from agentcli.program.trust import not_read
from agentcli.system.browser import open_page
from agentcli.system.programs import search_path

if TYPE_CHECKING:
    from agentcli.features.mcp.servers import McpServers

LOGS = "logs"
"""Folder in the state folder for servers' stderr."""

HEADER = 20
"""Most characters of a field's title before a question."""


class RunServers:
    """MCP servers of a run. A project's servers need the user's approval."""

    def __init__(self, program: Program) -> None:
        self._added = Definitions()
        self._project, self._ask = program, program.front_end.ask
        self._connected: McpServers | None = None

    def add(self, servers: Mapping[str, Mapping[str, Any]], source: str) -> None:
        """Servers by name, in the form of `mcpServers`, from an editor or another caller: they need no approval."""
        for name, given in servers.items():
            self._added += definition(name, given, source, "editor")

    def start(self) -> None:
        """Connect the servers that may be started, in the background."""
        if (servers := self.connected()) is not None:
            servers.start()

    def may_start(self, server: ServerDefinition) -> bool:
        """Return True if a server may be started: a project's server needs approval."""
        return server.scope != "project" or self._project.approvals.allows(approvable(server))

    def started(self) -> Sequence[Started]:
        """Return the command lines of the servers that may be started, as in their files."""
        folder = self._project.cwd
        return [
            Started(f"the server {one.name}", [one.command, *one.args], folder / one.cwd)
            for one in self._sorted()[0]
            if one.transport.is_program
        ]

    def to_log_in(self, name: str) -> ServerDefinition:
        """Return the server that a person wants to log in to. Raises InputError if it takes no login or is not approved."""
        known = {server.name: server for server in self._sorted()[0]}
        server = known.get(name) or self.configured().servers.get(name)
        if server is None:
            hint = instead(name, self.configured().servers, "`agentcli mcp list` lists them.")
            raise InputError(f"Unknown server {name!r}.{hint}")
        if not server.transport.has_login:
            raise InputError(f"Server {name} takes no login: only a server at a web address does.")
        if name not in known:
            raise InputError(
                f"Server {name} of {server.source} is not approved: approve it in a session, or use --trust."
            )
        return server

    def connected(self, only: str = "") -> McpServers | None:
        """Return the servers that may be started now, or only the requested one; None if none is configured.

        Starts nothing.
        """
        allowed, waiting = self._sorted()
        if only:
            allowed, waiting = [server for server in allowed if server.name == only], []
        if self._connected is None and not allowed and not waiting:
            return None
        if self._connected is None:
            project = self._project
            logs = None if project.options.no_session else project.dirs.state / LOGS
            around = Surroundings(
                self.environment, project.cwd, self._roots, logs, self._elicit, partial(authentication, project)
            )
            self._connected = McpServers(around)
        self._connected.define(allowed, waiting)
        return self._connected

    def configured(self) -> Definitions:
        """All configured servers, whether they may be started or not.

        Raises ConfigError for a broken `--mcp-config`.
        """
        found = self._bundled() + user_definitions(self._project.dirs.config)
        if self._project.trusted:
            found += project_definitions(self._project.cwd)
        return found + self._given()

    def of_project(self) -> Sequence[Definition]:
        """Return the servers that the project's files would start."""
        return project_servers(self._project)

    def unread(self) -> str:
        """Return the warning about the hooks and servers of an untrusted folder."""
        return unread(self._project)

    def notes(self) -> Sequence[str]:
        """Problems of the files that define servers, and logins that must be renewed."""
        found = self.configured()
        shadows = (
            f"Server {server.name} of {server.source} takes the place of your own: its calls are asked about, whatever your config and former answers allow."
            for server in self._sorted()[0]
            if server.shadows
        )
        return (*found.problems, *shadows, *to_renew(self._project, found.servers.values()))

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the run's environment with the PATH from its start. The person approved these servers, even if they
        start programs in the workspace.
        """
        env = self._project.given_env
        return {**env, "PATH": search_path()} if env.get("PATH") == os.environ.get("PATH") else env

    def _roots(self) -> Sequence[Path]:
        return self._project.roots

    def close(self) -> None:
        """End all servers."""
        if self._connected is not None:
            self._connected.close()

    def _sorted(self) -> tuple[Sequence[ServerDefinition], Sequence[ServerState]]:
        """Return the servers that may be started, and the others' states.

        A server that may not start blocks no other of its name.
        """
        own = self._bundled() + user_definitions(self._project.dirs.config)
        project = project_definitions(self._project.cwd) if self._project.trusted else Definitions()
        names = {server_prefix(name) for name in own.servers}
        approved = {
            name: replace(server, shadows=server_prefix(name) in names)
            for name, server in project.servers.items()
            if self.may_start(server)
        }
        allowed = {**own.servers, **approved, **self._given().servers}
        waiting = [self._waiting(server) for name, server in project.servers.items() if name not in allowed]
        return [*allowed.values()], waiting

    def _waiting(self, server: ServerDefinition) -> ServerState:
        """Return the state of a project's server that may not be started."""
        if server.disabled:
            return ServerState(server.name, "disabled", f"{server.source} disables it", origin=server.source)
        undecided = self._project.approvals.undecided([approvable(server)])
        why = "it waits for approval" if undecided else "it was declined"
        why += " (`/extensions hooks approve` asks about it)"
        return ServerState(server.name, "not approved", why, origin=server.source)

    def _bundled(self) -> Definitions:
        """Return the plugins' servers, which the user approved together with the plugins."""
        found = Definitions()
        for plugin in self._project.plugins[0]:
            found += bundled_servers(plugin.servers)
        return found

    def _given(self) -> Definitions:
        """Return the command line's servers, then those that an editor or another caller adds."""
        found = Definitions()
        for text in self._project.options.mcp_config:
            given = given_definitions(text, self._project.cwd)
            if given.problems and not given.servers:
                raise ConfigError(" ".join(given.problems))
            found += given
        return found + self._added

    async def _elicit(self, asked: Elicitation) -> Mapping[str, Any] | None:
        """Show a server's form to the person; None without a required answer. A URL is opened only after a yes."""
        if asked.url:
            return await self._open(asked) if asked.url.startswith(("http://", "https://")) else None
        if len(asked.fields) > FORM and not await self._wants(asked):
            return None
        questions = [_question(asked, field) for field in asked.fields] or [
            Question(f"{asked.server}: {asked.message}", choices=(Choice("Yes"), Choice("No")))
        ]
        answers = await self._ask(questions)
        if not answers or (not asked.fields and answers[0] != "Yes"):
            return None
        given = [(field, _value(field, text)) for field, text in zip(asked.fields, answers, strict=False)]
        if any(field.required and value is None for field, value in given):
            return None
        return {field.name: value for field, value in given if value is not None}

    async def _wants(self, asked: Elicitation) -> bool:
        """Ask whether the person will fill in a long form, which is shown as a whole before its first question."""
        names = ", ".join(
            (field.title or field.name) + ("" if field.required else " (optional)") for field in asked.fields
        )
        text = f"{asked.server}: {asked.message} It asks for {len(asked.fields)} things: {names}."
        answers = await self._ask([Question(text, choices=(Choice(FILL_IN), Choice("Decline")))])
        return answers is not None and list(answers[:1]) == [FILL_IN]

    async def _open(self, asked: Elicitation) -> Mapping[str, Any] | None:
        text = f"{asked.server} wants to open {asked.url} in your browser. {asked.message}"
        answers = await self._ask([Question(text, choices=(Choice("Open it"), Choice("No")))])
        if not answers or answers[0] != "Open it":
            return None
        return {} if open_page(asked.url, self._project.env) else None


FORM = 4
"""Maximum fields of a form that are asked for at once. A longer form is shown first, and can be declined as a whole."""
FILL_IN = "Fill it in"


def approvable(server: ServerDefinition) -> Definition:
    """Return the server as a definition that a person approves."""
    return Definition("server", server.name, server.source, server.starts, server.content)


def project_servers(project: Project) -> Sequence[Definition]:
    """Return the servers that the project's files would start."""
    return [approvable(server) for server in project_definitions(project.cwd).servers.values() if not server.disabled]


def unread(project: Project) -> str:
    """Return the warning about the hooks and servers of an untrusted folder; empty if it is trusted or has none."""
    return "" if project.trusted else not_read(project.cwd, [server.name for server in project_servers(project)])


def _question(asked: Elicitation, field: ElicitedField) -> Question:
    about = field.title or field.name
    more = f" ({field.description})" if field.description else ""
    choices = [*field.choices] or (["true", "false"] if field.kind == "boolean" else [])
    wanted = "" if field.required else " — optional"
    present = f", {_names(field)} if you skip it" if field.default not in (None, "", []) else ""
    return Question(
        f"{asked.server}: {asked.message} {about}{more}{wanted}{present}",
        about if len(about) <= HEADER else "",
        tuple(Choice(each) for each in choices),
        field.kind == "array" and bool(choices),
    )


def _names(field: ElicitedField) -> str:
    """Return the default of a field by its display name."""
    names = {value: name for name, value in field.choices.items()}
    given = field.default if isinstance(field.default, list) else [field.default]
    return ", ".join(
        names.get(text, text) for text in (json.dumps(one) if isinstance(one, bool) else str(one) for one in given)
    )


def _value(field: ElicitedField, text: str) -> Any:
    """Convert the answer to the type of the field; an empty answer gives the field's default."""
    if not text.strip():
        return field.default
    try:
        match field.kind:
            case "boolean":
                return text.strip().lower() in ("true", "yes", "y", "1", "on")
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "array":
                names = [re.escape(name) for name in sorted(field.choices, key=len, reverse=True)]
                parts = re.findall(rf"\s*({'|'.join([*names, '[^,]*?'])})\s*(?:,|\Z)", text.strip())
                return [field.choices.get(part, part) for part in parts if part]
            case _:
                return field.choices.get(text.strip(), text)
    except ValueError:
        return text

"""Slash command of MCP servers, and `doctor`'s checks of the configured servers."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import ConfigError, UsageError
from agentcli.core.sanitise import display_path, safe_line
from agentcli.core.text.words import none_of
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.run import servers_of
from agentcli.features.mcp.run_servers import RunServers, unread
from agentcli.features.mcp.schema import mends
from agentcli.features.mcp.server_login import log_in
from agentcli.features.mcp.session import MENTION
from agentcli.features.mcp.variables import MissingVariable, expanded
from agentcli.program.commands import Context, Item, Output, Said, Terminal, command
from agentcli.program.feature import Row
from agentcli.program.program import Program

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.core.mcp_servers import ServerState, ServerTool


_ACTIONS = {
    "reconnect": "reconnect it",
    "disable": "end it in this run",
    "enable": "connect it again",
    "login": "log in to it in the browser",
    "log": "show the end of its stderr",
    "tools": "list its tools",
}
LOG_LINES = 40


def _arguments(context: Context) -> Sequence[Item]:
    names = [state.name for state in context.session.servers]
    return [Item(f"{action} {name}", text) for action, text in _ACTIONS.items() for name in names]


@command("Extensions", at_once=True, arguments=_arguments)
async def mcp(context: Context, argument: str) -> AsyncIterator[Output]:
    """List MCP servers with their state, or act on one: /mcp [reconnect|disable|enable|login|log|tools NAME]

    Servers are defined in .mcp.json, .agentcli/mcp.json and your own mcp.json; `agentcli mcp add` adds one.
    Changes take effect at once. The model reaches them through mcp_search and mcp_call.
    """
    servers = context.session.core.setup.servers
    states = context.session.servers
    if not argument:
        yield Said(_listed(states) or [none_of("MCP servers", "mcp")])
        return
    action, _, name = argument.partition(" ")
    name = name.strip()
    if servers is None or action not in _ACTIONS or name not in [state.name for state in states]:
        known = ", ".join(state.name for state in states) or "none"
        raise UsageError(f"Use /mcp, or /mcp {'|'.join(_ACTIONS)} NAME. Servers: {known}.")
    match action:
        case "disable":
            await servers.disable(name)
            yield Said([f"Server {name} is disabled in this run."])
        case "login":
            terminal = context.only_in_terminal("/mcp login")
            server = servers_of(context.program).to_log_in(name)
            if not await log_in(context.program, server, terminal.say, lambda: _pasted(terminal, name)):
                yield Said([f"Server {name} asks for no login."])
                return
            yield Said([f"Logged in to {name}. {(await servers.restart(name)).sentence}"])
        case "log":
            yield Said(servers.log(name).splitlines()[-LOG_LINES:] or ["It has written nothing to stderr."])
        case "tools":
            own = [tool for tool in servers.tools() if tool.server == name]
            odd = next(state.odd for state in states if state.name == name)
            yield Said([*map(_described, own), *odd] or ["None."])
        case _:
            yield Said([(await servers.restart(name)).sentence])


def _described(tool: ServerTool) -> str:
    """Return the line about a tool, with the keywords dropped from its schema because no provider would accept them."""
    left = mends(tool.parameters)
    mended = f"  (left out of its schema: {safe_line(', '.join(left))})" if left else ""
    return f"{tool.name}  {tool.description.strip().partition(chr(10))[0]}{mended}"


def _listed(states: Sequence[ServerState]) -> Sequence[str]:
    wide = max((len(state.name) for state in states), default=0) + 2
    return [f"{state.name.ljust(wide)}{state}  ({display_path(Path(state.origin))})" for state in states]


async def _pasted(terminal: Terminal, name: str) -> str | None:
    """Wait for the address that the person pastes; None if the person gives up."""
    hint = "If the browser is on another machine, paste the address that it ends at."
    return await terminal.enter(f"Waiting for your login to {name} in the browser", "", hint)


def resources(session: AgentSession) -> Sequence[Item]:
    """Return servers' resources as `@server:uri`, for completion, without URIs that a prompt cannot contain."""
    pool = session.core.setup.servers
    found = [(f"@{one.server}:{one.uri}", one) for one in (pool.resources() if pool is not None else ())]
    return [
        Item(label, safe_line(one.description or one.name))
        for label, one in found
        if MENTION.fullmatch(label) and safe_line(label) == label
    ]


def server_rows(program: Program) -> Iterator[Row]:
    """Return for each server of the run its name, whether it could be started, and its file or its problem."""
    servers = servers_of(program)
    try:
        found = servers.configured()
    except ConfigError as error:
        yield "servers", False, str(error)
        return
    for server in found.servers.values():
        why = _obstacle(servers, server)
        yield f"server {server.name}", not why, f"{display_path(Path(server.source))}: {why or server.target}"
    for problem in found.problems:
        yield "servers", False, problem
    if left := unread(program):
        yield "servers and hooks", False, left


def _obstacle(servers: RunServers, server: ServerDefinition) -> str:
    """Return why a server cannot be started; empty if no reason is known."""
    if server.disabled:
        return "disabled"
    if not servers.may_start(server):
        return "not approved; a session asks about it"
    try:
        command = expanded(server, servers.environment).command
    except MissingVariable as error:
        return f"it {error}"
    if command and shutil.which(command, path=server.env.get("PATH", servers.environment.get("PATH"))) is None:
        return f"{command} was not found"
    return ""


COMMANDS = (mcp,)

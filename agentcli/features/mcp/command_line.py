"""`agentcli mcp`: list, add, remove and test MCP servers."""

from __future__ import annotations

import json as codec
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.core.errors import InputError, UsageError
from agentcli.core.sanitise import display_path, safe, safe_line
from agentcli.core.text.words import instead, none_of
from agentcli.features.mcp.transport import NAMES, STDIO, TRANSPORTS, Kind, reaching
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import InFolder, Json
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.features.mcp.run_servers import RunServers
    from agentcli.features.mcp.server_files import FileScope
    from agentcli.program.program import Program

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class Scope(StrEnum):
    """The file that a server is written to."""

    user = "user"
    project = "project"


Name = Annotated[str, typer.Argument(metavar="NAME", help="name of the server")]
Trust = Annotated[bool, typer.Option("--trust", help="trust the folder and all its servers for this run")]
InScope = Annotated[Scope, typer.Option("--scope", help="your own servers, or the project's .mcp.json")]


@app.command("list")
def list_servers(json: Json = False, cwd: InFolder = "", trust: Trust = False) -> None:
    """List the configured servers, and whether each would be started.

    No server is started; `agentcli mcp test NAME` connects to one.
    """
    from agentcli.features.mcp.run_servers import unread

    program = _program(cwd, trust)
    rows = [_row(program, name) for name in sorted(_servers(program).configured().servers)]
    if json:
        say_json(rows)
    elif rows:
        columns = (
            Column("server", style="bold"),
            Column("type"),
            Column("starts", wraps=True),
            Column("from"),
            Column("state"),
        )
        shown = [{**row, "source": display_path(Path(row["source"]))} for row in rows]
        print_table(
            columns,
            [[safe_line(str(row[key])) for key in ("name", "type", "starts", "source", "state")] for row in shown],
        )
    elif not unread(program):
        say(none_of("MCP servers", "mcp"))


@app.command("get")
def get_server(name: Name, json: Json = False, cwd: InFolder = "") -> None:
    """Print a server's definition and the file that defines it."""

    server = _chosen(_program(cwd, trust=True), name)
    if json:
        say_json({"name": server.name, "source": server.source, "scope": server.scope, "definition": server.content})
        return
    say(safe(f"{server.name} of {display_path(Path(server.source))}:\n{codec.dumps(server.content, indent=2)}"))


@app.command("add")
def add(
    name: Name,
    target: Annotated[
        list[str], typer.Argument(metavar="URL | -- COMMAND…", help="its URL, or the command that starts it")
    ],
    scope: InScope = Scope.user,
    transport: Annotated[
        Kind | None, typer.Option("-t", "--transport", help=f"{NAMES} (default: http for a URL)")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("-e", "--env", metavar="KEY=VALUE", help="a variable; repeatable")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("-H", "--header", metavar="'KEY: VALUE'", help="a header; repeatable")
    ] = None,
    cwd: InFolder = "",
) -> None:
    """Add or replace a server.

    Values may use variables such as ${TOKEN}, which are filled in when the server is started.
    """
    _add(name, _definition(target, transport, env, header), scope.value, cwd)


def _definition(
    target: Sequence[str], transport: Kind | None, env: list[str] | None, header: list[str] | None
) -> dict[str, Any]:
    """Return the definition of a server at a URL or behind a command. Raise UsageError for flags that do not fit it."""
    first, *rest = target
    reached = reaching(first)
    by = TRANSPORTS[transport] if transport is not None else reached or STDIO
    if reached is not None:
        if rest or env or by.is_program:
            raise UsageError("A server with a URL takes no arguments and no variables; give it headers with -H.")
        return {"type": by.name.value, "url": first, **({"headers": _pairs(header, ":")} if header else {})}
    if header or not by.is_program:
        raise UsageError(f"{first!r} is not a URL. A command takes variables with -e, and no headers.")
    return {"type": "stdio", "command": first, "args": rest, **({"env": _pairs(env, "=")} if env else {})}


@app.command("add-json")
def add_json(
    name: Name,
    text: Annotated[str, typer.Argument(metavar="JSON", help="the definition, as under mcpServers")],
    scope: InScope = Scope.user,
    cwd: InFolder = "",
) -> None:
    """Add or replace a server by its JSON definition."""
    try:
        given = codec.loads(text)
    except ValueError as error:
        raise InputError(f"The definition is not valid JSON: {error}.") from error
    _add(name, given, scope.value, cwd)


@app.command("remove")
def remove(
    name: Name,
    scope: Annotated[Scope | None, typer.Option("--scope", help="remove it only there")] = None,
    cwd: InFolder = "",
) -> None:
    """Remove a server that `add` has added."""
    from agentcli.features.mcp.server_files import remove_server, server_file

    program = _program(cwd, trust=True)
    scopes: tuple[FileScope, ...] = ("user", "project") if scope is None else (scope.value,)
    files = [file for file in (server_file(program, each) for each in scopes) if remove_server(file, name)]
    if not files:
        server = _chosen(program, name)
        raise InputError(f"Server {name} is defined in {server.source}: remove it there.")
    for file in files:
        say(f"Removed {name} from {display_path(file.path)}.")


@app.command("test")
def try_server(name: Name, json: Json = False, cwd: InFolder = "", trust: Trust = False) -> int:
    """Connect to a server, list its tools and disconnect. Exit code 1 if it fails."""
    import asyncio

    program = _program(cwd, trust)
    server = _chosen(program, name)
    servers = _servers(program).connected(only=name)
    if servers is None or not any(state.name == name for state in servers.states()):
        raise InputError(
            f"Server {name} of {server.source} may not be started: approve it in a session, or use --trust."
        )
    try:
        asyncio.run(servers.settle(None))
        state = next(state for state in servers.states() if state.name == name)
        tools = servers.tools()
    finally:
        _servers(program).close()
    if json:
        say_json({"name": name, "status": state.status, "detail": state.detail, "tools": [tool.name for tool in tools]})
    else:
        say(safe(f"{name}: {state}"))
        for tool in tools:
            say(safe_line(f"  {tool.name}  {_first_line(tool.description)}"))
        for line in state.odd:
            say(safe_line(f"  {line}"))
    return 0 if state.status == "connected" else 1


@app.command("login")
def log_in_to(name: Name, cwd: InFolder = "", trust: Trust = False) -> None:
    """Log in to a server in your browser; the login is stored.

    Over ssh, paste the address that the browser ends at.
    """
    import asyncio

    from agentcli.features.mcp.server_login import log_in
    from agentcli.system.browser_login import pasted_in

    program = _program(cwd, trust)
    server = _servers(program).to_log_in(name)
    if asyncio.run(log_in(program, server, say, pasted_in(say))):
        say(f"Logged in to {name}.")
    else:
        say(f"Server {name} asks for no login.")


@app.command("logout")
def log_out_of(name: Name, cwd: InFolder = "") -> None:
    """Forget the login of a server."""
    from agentcli.features.mcp.server_login import log_out

    program = _program(cwd, trust=True)
    server = _chosen(program, name)
    if not server.transport.has_login or not log_out(program, server):
        raise InputError(f"No login is stored for server {name}.")
    say(f"Forgot the login of {name}.")


def _program(cwd: str, trust: bool) -> Program:
    """Return the program in a folder. Problems of its servers' files and unread files go to stderr, the SDK's messages
    to the log.
    """
    from agentcli.features.mcp.run_servers import unread
    from agentcli.system.logs import log_library_to

    program = program_of(Options(cwd=cwd, trust=trust))
    log_library_to(program.dirs, program.env, "mcp")
    for problem in _servers(program).notes():
        print(f"agentcli: {safe(problem)}", file=sys.stderr)
    if left := unread(program):
        print(f"agentcli: {safe(left)}", file=sys.stderr)
    return program


def _servers(program: Program) -> RunServers:
    from agentcli.features.mcp.run import servers_of

    return servers_of(program)


def _row(program: Program, name: str) -> dict[str, Any]:
    server = _servers(program).configured().servers[name]
    state = "disabled" if server.disabled else "enabled" if _servers(program).may_start(server) else "not approved"
    return {
        "name": name,
        "type": server.transport.name.value,
        "starts": server.target,
        "source": server.source,
        "scope": server.scope,
        "state": state,
    }


def _chosen(program: Program, name: str) -> Any:
    known = _servers(program).configured().servers
    if name not in known:
        raise InputError(f"Unknown server {name!r}.{instead(name, known, '`agentcli mcp list` lists them.')}")
    return known[name]


def _add(name: str, given: Any, scope: FileScope, cwd: str) -> None:
    from agentcli.features.mcp.server_files import add_server, server_file

    program = _program(cwd, trust=True)
    file = server_file(program, scope)
    replaced, problems = add_server(file, name, given)
    for problem in problems:
        print(f"agentcli: {safe(problem)}", file=sys.stderr)
    done = f"Replaced {name} in" if replaced else f"Added {name} to"
    say(f"{done} {display_path(file.path)}. `agentcli mcp test {name}` tries it.")


def _pairs(given: Sequence[str], mark: str) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, found, value = text.partition(mark)
        if not found or not key.strip():
            raise UsageError(f"{text!r} must have the form KEY{mark}VALUE.")
        pairs[key.strip()] = value.strip()
    return pairs


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")

"""Definitions of MCP servers: the JSON of Claude Code, Gemini CLI and others, read into one form.

The files range from the user's to the current folder's; for one server name, the last file counts.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.core.text.json_comments import without_comments
from agentcli.core.text.words import instead
from agentcli.features.mcp.names import GEMINI, PROJECT_FILES, SERVER_NAME, USER_FILE
from agentcli.features.mcp.transport import HTTP, NAMES, STDIO, WRITTEN, Transport, reaching
from agentcli.program.files import project_files
from agentcli.system import probe
from agentcli.system.regular_file import Missing, Unusable, read_text, version

if TYPE_CHECKING:
    from agentcli.program.prompt_files.plugins import PluginServers


CALL_TIMEOUT = 120.0
"""Seconds without news after which a call is cancelled."""
CALL_SECONDS = 1_800.0
"""Longest duration of a call in seconds, regardless of progress."""
STARTUP_TIMEOUT = 10.0
"""Seconds that a start, and each call, waits for a connecting server. Connecting continues in the background."""
START_SECONDS = 600.0
"""Seconds after which an attempt to start a server is abandoned: the first start of a package downloads it."""
Scope = Literal["user", "project", "flag", "plugin", "editor"]
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "type": str,
    "command": str,
    "args": list,
    "env": dict,
    "cwd": str,
    "url": str,
    "httpUrl": str,
    "headers": dict,
    "timeout": (int, float),
    "startupTimeout": (int, float),
    "disabled": bool,
    "enabled": bool,
    "alwaysLoad": bool,
    "includeTools": list,
    "excludeTools": list,
    "enabled_tools": list,
    "disabled_tools": list,
    "oauth": dict,
    "trustHints": bool,
    "trust": bool,
    "description": str,
}
_LOGIN_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "clientId": str,
    "clientSecret": str,
    "scopes": (str, list),
    "callbackPort": int,
}
_TYPES: Mapping[type | tuple[type, ...], str] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    int: "a whole number",
    (int, float): "a number",
    (str, list): "a text or a list",
}
_PARTING = re.compile(r"""[\s;'"]""")
_LONGEST = 1e9
"""Maximum time in a definition, in milliseconds; a longer one is ignored."""


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """`oauth` of a server: data for a login that the server does not announce itself."""

    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    callback_port: int = 0

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that are set, by their names in a file."""
        given = {"clientId": self.client_id, "clientSecret": self.client_secret, "scopes": " ".join(self.scopes)}
        return {name: text for name, text in given.items() if text}


@dataclass(frozen=True, slots=True)
class ServerDefinition:
    """Definition of a server as in `source`, with variables not expanded. Times are in seconds."""

    name: str
    transport: Transport
    source: str = ""
    scope: Scope = "user"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = CALL_TIMEOUT
    startup_timeout: float = STARTUP_TIMEOUT
    disabled: bool = False
    always_load: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    oauth: OAuthSettings = OAuthSettings()
    trust_hints: bool = False
    shadows: bool = False
    """True for a project's server that replaces the user's own of that name."""
    content: Mapping[str, Any] = field(default_factory=dict)
    """The definition as in the file: an approval covers this."""

    @property
    def target(self) -> str:
        """The command line to start, or the URL to connect to."""
        return " ".join(map(_quoted, [self.command, *self.args])) if self.transport.is_program else self.url

    @property
    def starts(self) -> str:
        """The target with the definition's variables and headers: everything that a person approves."""
        variables = [f"{name}={_quoted(value)}" for name, value in self.env.items()]
        headers = [f"{name}: {value}" for name, value in self.headers.items()]
        folder = [f"in {_quoted(self.cwd)}"] if self.cwd else []
        login = [f"oauth {name}={text}" for name, text in self.oauth.texts.items()]
        return "; ".join([self.target, *folder, *variables, *headers, *login])

    def offers(self, tool: str) -> bool:
        """Return True if the definition includes a tool of the server."""
        included = not self.include or any(fnmatchcase(tool, pattern) for pattern in self.include)
        return included and not any(fnmatchcase(tool, pattern) for pattern in self.exclude)


@dataclass(frozen=True, slots=True)
class Definitions:
    """Servers by name, and the problems in the files that define them."""

    servers: Mapping[str, ServerDefinition] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def __add__(self, other: Definitions) -> Definitions:
        return Definitions({**self.servers, **other.servers}, self.problems + other.problems)


def parsed(text: str, source: str, scope: Scope = "user", read: Callable[[str], Any] = json.loads) -> Definitions:
    """Read the servers that a file defines. Skip anything unreadable and list it in `problems`."""
    try:
        whole = read(text.removeprefix("\ufeff")) if text.strip() else {}
    except json.JSONDecodeError as error:
        why = error.msg.replace("Expecting", "expected").replace("delimiter", "").replace("  ", " ")
        return Definitions(problems=(f"{source} line {error.lineno}: {why.strip()} — its servers are left out.",))
    except RecursionError:
        return Definitions(problems=(f"{source} is nested too deeply — its servers are left out.",))
    except ValueError as error:
        return Definitions(problems=(f"{source} is not usable JSON ({error}) — its servers are left out.",))
    servers = whole.get("mcpServers", {}) if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        return Definitions(problems=(f'{source}: "mcpServers" must be an object — its servers are left out.',))
    if read is json.loads and "mcpServers" not in whole and any(not key.startswith("$") for key in whole):
        return Definitions(problems=(f'{source} has no "mcpServers": put its servers below that key. None is read.',))
    found = Definitions()
    for name, given in servers.items():
        found += definition(name, given, source, scope)
    return found


def definition(name: str, given: Any, source: str, scope: Scope = "user") -> Definitions:
    """Read one server, as `Definitions` of it alone."""
    where = f"{safe_line(name)} in {source}"
    if not SERVER_NAME.fullmatch(name):
        return Definitions(problems=(f"Server {where} is left out: a name has 1 to 40 letters, digits, - and _.",))
    if not isinstance(given, dict):
        return Definitions(problems=(f"Server {where} must be an object.",))
    problems = [*_unknown(name, given), *_mistyped(where, given, _FIELDS)]
    problems += _mistyped(f"{where}, oauth", _table(given, "oauth"), _LOGIN_FIELDS)
    values = {key: value for key, value in given.items() if key in _FIELDS and _fits(value, _FIELDS[key])}
    written, url = str(values.get("type", "")), str(values.get("url") or values.get("httpUrl") or "")
    if written and written not in WRITTEN:
        return Definitions(
            problems=(*problems, f'Server {where} has the type "{safe_line(written)}": it must be {NAMES}.')
        )
    transport = WRITTEN[written] if written else STDIO if values.get("command") else reaching(url) or HTTP
    if not (values.get("command") if transport.is_program else url):
        needs = f'"{transport.needs}"' if written else '"command" or "url"'
        return Definitions(problems=(*problems, f"Server {where} needs {needs}."))
    return Definitions({name: _built(name, transport, url, values, given, source, scope)}, tuple(problems))


def _built(
    name: str, transport: Transport, url: str, values: Mapping[str, Any], given: Any, source: str, scope: Scope
) -> ServerDefinition:
    oauth = {key: value for key, value in _table(values, "oauth").items() if _fits(value, _LOGIN_FIELDS.get(key, ()))}
    scopes = oauth.get("scopes", ())
    return ServerDefinition(
        name,
        transport,
        source,
        scope,
        command=values.get("command", "") if transport.is_program else "",
        args=tuple(map(str, values.get("args", ()))),
        env={str(key): str(value) for key, value in values.get("env", {}).items()},
        cwd=values.get("cwd", ""),
        url="" if transport.is_program else url,
        headers={str(key): str(value) for key, value in values.get("headers", {}).items()},
        timeout=_seconds(values.get("timeout"), CALL_TIMEOUT),
        startup_timeout=_seconds(values.get("startupTimeout"), STARTUP_TIMEOUT),
        disabled=bool(values.get("disabled")) or values.get("enabled") is False,
        always_load=bool(values.get("alwaysLoad")),
        include=tuple(map(str, (*values.get("includeTools", ()), *values.get("enabled_tools", ())))),
        exclude=tuple(map(str, (*values.get("excludeTools", ()), *values.get("disabled_tools", ())))),
        oauth=OAuthSettings(
            str(oauth.get("clientId", "")),
            str(oauth.get("clientSecret", "")),
            tuple(map(str, scopes.split() if isinstance(scopes, str) else scopes)),
            oauth.get("callbackPort", 0) if oauth.get("callbackPort", 0) in range(1 << 16) else 0,
        ),
        trust_hints=bool(values.get("trustHints")) and scope != "project",
        content=given,
    )


def _quoted(word: str) -> str:
    """Return a word of a command line, quoted if it would otherwise look like several words or none."""
    return shlex.quote(word) if not word or _PARTING.search(word) else word


def _seconds(given: Any, default: float) -> float:
    """Convert a time to seconds. Below 1,000 it is in seconds, else in milliseconds, as in Claude Code and Gemini CLI."""
    if not isinstance(given, int | float) or not 0 < given < _LONGEST:  # also excludes NaN
        return default
    return float(given) if given < 1_000 else given / 1_000


def _unknown(name: str, given: Mapping[str, Any]) -> list[str]:
    found = []
    for key in given:
        if key not in _FIELDS:
            near = instead(key, _FIELDS)
            found.append(f'Unknown field "{safe_line(key)}" of server {name} is ignored.{near}')
    if given.get("trust") is True:
        found.append(
            f'"trust" of server {name} is ignored: allow its tools with a permission rule such as mcp__{name}.'
        )
    return found


def _mistyped(where: str, given: Mapping[str, Any], fields: Mapping[str, type | tuple[type, ...]]) -> list[str]:
    return [
        f'Server {where}: "{key}" must be {_TYPES[kind]}; it is ignored.'
        for key, kind in fields.items()
        if key in given and not _fits(given[key], kind)
    ]


def _fits(value: Any, kind: type | tuple[type, ...]) -> bool:
    # In Python true and false are numbers as well.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


FILE_BYTES = 1_000_000
"""Largest size of a file of definitions, in bytes."""


def user_definitions(config: Path) -> Definitions:
    """Return the user's own servers."""
    return _read(config / USER_FILE, str(config / USER_FILE), "user")


def project_definitions(cwd: Path) -> Definitions:
    """Return the servers in a project's files, without starting any."""
    files = project_files(cwd, PROJECT_FILES)
    found = Definitions(problems=files.notes)
    for name in PROJECT_FILES:
        for path in files.paths:
            if path.as_posix().endswith(f"/{name}"):
                found += _read(path, os.path.relpath(path, cwd), "project")
    return found


def bundled_servers(given: PluginServers) -> Definitions:
    """Return the servers of a plugin."""
    if given.problem:
        return Definitions(problems=(f"{given.source}: {given.problem}: its servers are left out.",))
    return parsed(given.text, given.source, "plugin", read_gemini if given.gemini else json.loads)


def given_definitions(text: str, cwd: Path) -> Definitions:
    """Return the servers of `--mcp-config`: either JSON, or the name of a file."""
    if text.lstrip().startswith("{"):
        return parsed(text, "--mcp-config", "flag")
    path = cwd / Path(text).expanduser()
    if not probe.is_file(path):
        return Definitions(problems=(f"--mcp-config: {text} is not a file.",))
    return _read(path, text, "flag")


def _read(path: Path, source: str, scope: Scope) -> Definitions:
    return _parsed(path, safe_line(source), scope, version(path))


@lru_cache(maxsize=64)
def _parsed(path: Path, source: str, scope: Scope, _: tuple[int, ...]) -> Definitions:
    """Return the servers of one version of a file."""
    try:
        text = read_text(path, FILE_BYTES)
    except Missing:
        return Definitions()
    except Unusable as why:
        return Definitions(problems=(f"{source}: {why} — its servers are left out.",))
    return parsed(text, source, scope, read_gemini if path.as_posix().endswith(f"/{GEMINI}") else json.loads)


_VARIABLE = re.compile(r"\$\{[^}]*\}|\$([A-Za-z_][A-Za-z0-9_]*)")


def read_gemini(text: str) -> Any:
    """Return the value of a Gemini CLI file, with variables as in other files. Raise ValueError if it is broken."""
    return with_braces(json.loads(without_comments(text)))


def with_braces(value: Any) -> Any:
    """Return the value with `$VAR` written as `${VAR:-$VAR}`, which stays unchanged if the variable is not set."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: f"${{{found[1]}:-{found[0]}}}" if found[1] else found[0], value)
        case list():
            return [with_braces(item) for item in value]
        case dict():
            return {key: with_braces(item) for key, item in value.items()}
        case _:
            return value

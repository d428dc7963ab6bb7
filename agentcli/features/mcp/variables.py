"""Environment variables in definitions of MCP servers, and the variables that a server receives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from agentcli.features.mcp.config import ServerDefinition

_PASSED = frozenset(
    [
        "PATH",
        "HOME",
        "SHELL",
        "USER",
        "LOGNAME",
        "TERM",
        "LANG",
        "TZ",
        "TMPDIR",
        "NODE_EXTRA_CA_CERTS",
    ]
)
_PASSED_LIKE = ("LC_*", "XDG_*", "*_PROXY", "*_proxy", "SSL_CERT_*")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class MissingVariable(Exception):
    """A variable of a definition is not set; the text is about the server: `needs $TOKEN, which is not set`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"needs ${name}, which is not set")


def expanded(server: ServerDefinition, env: Mapping[str, str]) -> ServerDefinition:
    """Return the definition with `${VAR}` and `${VAR:-default}` replaced. Raise MissingVariable if one is not set."""

    def of(text: str) -> str:
        return _VARIABLE.sub(lambda match: _value(match, env), text)

    return replace(
        server,
        command=of(server.command),
        args=tuple(map(of, server.args)),
        env={key: of(value) for key, value in server.env.items()},
        cwd=of(server.cwd),
        url=of(server.url),
        headers={key: of(value) for key, value in server.headers.items()},
        oauth=replace(
            server.oauth,
            client_id=of(server.oauth.client_id),
            client_secret=of(server.oauth.client_secret),
            scopes=tuple(map(of, server.oauth.scopes)),
        ),
    )


def variables(server: ServerDefinition) -> Sequence[str]:
    """Return the variables that a definition uses, in alphabetical order."""
    places = (server.command, *server.args, *server.env.values(), server.cwd, server.url, *server.headers.values())
    places += tuple(server.oauth.texts.values())
    return sorted({match[1] for text in places for match in _VARIABLE.finditer(text)})


def _value(match: re.Match[str], env: Mapping[str, str]) -> str:
    value = env.get(match[1], match[2])  # an empty value counts, as in Claude Code
    if value is None:
        raise MissingVariable(match[1])
    return value


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return our environment's variables that a server receives: none that could contain a key."""
    return {name: value for name, value in env.items() if is_passed(name)}


def is_passed(name: str) -> bool:
    """Return True if servers receive this variable."""
    return name in _PASSED or any(fnmatchcase(name, pattern) for pattern in _PASSED_LIKE)

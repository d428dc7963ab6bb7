"""Transports of MCP servers: how a server is reached, with the consequences."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from agentcli.core.dataclass import dataclass


class Kind(StrEnum):
    """Names of the transports, as in files and on the command line."""

    stdio = "stdio"
    http = "http"
    sse = "sse"


@dataclass(frozen=True, slots=True)
class Transport:
    """A way to reach a server."""

    name: Kind
    needs: str
    """The field that a definition must have."""
    schemes: tuple[str, ...] = ()
    """The beginnings of its addresses."""
    is_program: bool = False
    """True for a local program, which is started; False for an address."""
    has_login: bool = False
    """True if a server reached this way may ask the user to log in."""
    streams_only: bool = False
    """True if a client begins by opening a stream with GET, on which it reads all answers."""
    older: Transport | None = None
    """The transport to try if a server's address does not support this one."""


STDIO = Transport(Kind.stdio, needs="command", is_program=True)
_WEB = ("http://", "https://")
SSE = Transport(Kind.sse, needs="url", schemes=_WEB, has_login=True, streams_only=True)
HTTP = Transport(Kind.http, needs="url", schemes=_WEB, has_login=True, older=SSE)
TRANSPORTS: Mapping[str, Transport] = {transport.name: transport for transport in (STDIO, HTTP, SSE)}
"""All transports by name."""
NAMES = " or ".join(", ".join(TRANSPORTS).rsplit(", ", 1))
"""Their names in a sentence."""
WRITTEN: Mapping[str, Transport] = {**TRANSPORTS, "local": STDIO, "streamable-http": HTTP, "streamableHttp": HTTP}
"""Transports by name, including the names in other programs' files."""


def reaching(address: str) -> Transport | None:
    """Return the transport that reaches such an address, the first if there are several. None if it is not an address."""
    return next((each for each in TRANSPORTS.values() if each.schemes and address.startswith(each.schemes)), None)

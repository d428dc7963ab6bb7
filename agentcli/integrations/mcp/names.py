"""Names of servers' tools as models see them: unique, stable, and fit for every provider."""

from __future__ import annotations

import hashlib
import re

from agentcli.core.servers import PREFIX

LONGEST = 64
"""Characters of a tool's name at most (Anthropic: `^[a-zA-Z0-9_-]{1,64}$`)."""
SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""The names that a server may have."""
_TAIL = 6


def tool_name(server: str, tool: str) -> str:
    """`mcp__server__tool`; where letters had to be replaced or it would be too long, its tail is a hash of both names."""
    part, own = _server_part(server), re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    name = f"{PREFIX}{part}__{own}"
    if (part, own) == (server, tool) and tool and len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_TAIL]
    return f"{name[: LONGEST - _TAIL - 1]}_{digest}"


def server_prefix(server: str) -> str:
    """The beginning of the names of all tools of a server."""
    return f"{PREFIX}{_server_part(server)}__"


def _server_part(server: str) -> str:
    """The name of a server within that of a tool: without a double underscore, so that a rule about one server matches no other's tools."""
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", server)).strip("_")

"""Names of MCP tools as models see them: unique, stable and valid for every provider. The names of files
that define servers are here, too.
"""

from __future__ import annotations

import hashlib
import re

from agentcli.core.mcp_servers import PREFIX

LONGEST = 64
"""Longest name of a tool, in characters (Anthropic: `^[a-zA-Z0-9_-]{1,64}$`)."""
SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Form of a server's name."""
_TAIL = 6
USER_FILE = "mcp.json"
"""The user's own definitions of servers, in the configuration folder."""
GEMINI = ".gemini/settings.json"
PROJECT_FILES = (GEMINI, ".mcp.json", ".agentcli/mcp.json")
"""Definitions of a project; the last one counts. Each kind is searched from the top of the repository down."""


def tool_name(server: str, tool: str) -> str:
    """Return `mcp__server__tool`; if letters are replaced or it is too long, it ends with a hash of both names."""
    part, own = _server_part(server), re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    name = f"{PREFIX}{part}__{own}"
    if (part, own) == (server, tool) and tool and len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_TAIL]
    return f"{name[: LONGEST - _TAIL - 1]}_{digest}"


def server_prefix(server: str) -> str:
    """Return the common prefix of a server's tool names."""
    return f"{PREFIX}{_server_part(server)}__"


def _server_part(server: str) -> str:
    """Return a server's name as part of a tool's name. It has no double underscore, so that a rule matches only one
    server.
    """
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", server)).strip("_")

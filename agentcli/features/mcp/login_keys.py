"""Names under which logins to MCP servers are stored."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

from agentcli.features.mcp.config import ServerDefinition


def vault_key(server: ServerDefinition) -> str:
    """Return the name under which a login is stored: the server's whole URL, and its client.

    A host may have servers of many people at different paths. A query may contain a key, so a digest replaces it.
    """
    place = urlsplit(server.url)
    query = f"?{hashlib.sha256(place.query.encode('utf-8', 'replace')).hexdigest()[:32]}" if place.query else ""
    return f"{_origin_of(server)}{place.path or '/'}{query} {server.oauth.client_id}".strip()


def former_key(server: ServerDefinition) -> str:
    """Return the name under which former versions stored a login for all paths of the host."""
    return f"{_origin_of(server)} {server.oauth.client_id}".strip()


def _origin_of(server: ServerDefinition) -> str:
    place = urlsplit(server.url)
    return f"{place.scheme.lower()}://{place.netloc.rpartition('@')[2].lower()}"

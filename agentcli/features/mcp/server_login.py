"""Logins to MCP servers: their storage, and the exchange with the person's browser."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentcli.core.errors import InputError
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.variables import MissingVariable, expanded
from agentcli.system import probe
from agentcli.system.key_store import KeyStore

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.system.browser_login import Pasted


FILE = "mcp-tokens.json"
"""File in the state folder for logins without a keyring."""


class LoginStore:
    """The stored login of one server."""

    def __init__(self, project: Project, server: ServerDefinition) -> None:
        self._store = KeyStore(project.dirs.state, FILE)
        self._name, self._former = vault_key(server), former_key(server)
        self.lock = project.dirs.state / f".mcp-{hashlib.sha256(self._name.encode()).hexdigest()[:16]}.lock"
        """The file that processes lock to renew this login."""

    def read(self) -> str:
        """Return the login as JSON; empty if none is stored."""
        return self._store.key(self._name)

    def write(self, text: str) -> None:
        """Store a login, replacing the old one; an empty text removes it.

        A login stored for the whole host goes with it.
        """
        if text:
            self._store.set(self._name, text)
        for name in (self._former, *([] if text else [self._name])):
            if name in self._store.places():
                self._store.remove(name)

    @property
    def is_for_the_host(self) -> bool:
        """True if the only login is for the whole host, as in earlier versions: no server gets it any more."""
        stored = self._store.places()
        return self._former in stored and self._name not in stored


def authentication(project: Project, server: ServerDefinition) -> Any:
    """Return the authentication of requests to a server that the user has logged in to; None for any other server."""
    if not server.transport.has_login or not probe.exists(project.dirs.state / FILE):
        return None
    try:
        server = expanded(server, project.env)
    except MissingVariable:
        return None
    vault = LoginStore(project, server)
    if not vault.read():
        return None
    from agentcli.features.mcp.tokens import provider

    return provider(server, vault, lock=vault.lock)


def to_renew(project: Project, servers: Iterable[ServerDefinition]) -> Iterator[str]:
    """Yield a line about each server whose login an earlier version stored for its whole host."""
    if not probe.exists(project.dirs.state / FILE):
        return
    for server in servers:
        with contextlib.suppress(MissingVariable):
            if server.transport.has_login and LoginStore(project, expanded(server, project.env)).is_for_the_host:
                yield (
                    f"The login of server {server.name} was stored for every address of its host, and is no longer used: logins are now valid for"
                    f" one address each. Run `agentcli mcp login {server.name}`, or `logout` to forget it."
                )


def log_out(project: Project, server: ServerDefinition) -> bool:
    """Forget the login of a server. Return False if none is stored. Raises InputError if a variable of its definition is not set."""
    vault = LoginStore(project, _expanded(server, project.env))
    had = bool(vault.read()) or vault.is_for_the_host
    vault.write("")
    return had


async def log_in(
    project: Project,
    server: ServerDefinition,
    say: Callable[[str], None],
    pasted: Pasted | None = None,
) -> bool:
    """Log in to a server in the browser; return False if it requires no login. Raises InputError if that fails.

    `pasted` waits for the address at which the browser ended; None gives up. Over ssh the browser is on another
    machine.
    """
    await asyncio.to_thread(import_module, "agentcli.features.mcp.tokens")
    from agentcli.features.mcp.tokens import CALLBACK, LoginPage, login
    from agentcli.system.browser_login import answer, show

    server = _expanded(server, project.env)
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    listening = await _listening(arrived, CALLBACK, server.oauth.callback_port)
    redirect = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{CALLBACK}"

    async def open_url(url: str) -> None:
        await show(url, project.env, say)

    async def answered() -> str:
        return await answer(arrived, pasted)

    try:
        return await login(server, LoginStore(project, server), LoginPage(redirect, open_url, answered))
    finally:
        listening.close()


async def _listening(arrived: asyncio.Future[str], path: str, port: int) -> asyncio.Server:
    from agentcli.system.browser_login import listen

    try:
        return await listen(arrived, path, port)
    except OSError as error:
        raise InputError(
            f"Can't use port {port} for the login: {os.strerror(error.errno or 0)}. Free it, or change callbackPort."
        ) from error


def _expanded(server: ServerDefinition, env: Mapping[str, str]) -> ServerDefinition:
    try:
        return expanded(server, env)
    except MissingVariable as error:
        raise InputError(f"Server {server.name} {error}.") from error


def vault_key(server: ServerDefinition) -> str:
    """Return the storage name of a login: the server's whole URL, and its client.

    A host may have several people's servers at different paths. A query may contain a key, so a digest replaces it.
    """
    place = urlsplit(server.url)
    query = f"?{hashlib.sha256(place.query.encode('utf-8', 'replace')).hexdigest()[:32]}" if place.query else ""
    return f"{_origin_of(server)}{place.path or '/'}{query} {server.oauth.client_id}".strip()


def former_key(server: ServerDefinition) -> str:
    """Return the name under which earlier versions stored a login for all paths of the host."""
    return f"{_origin_of(server)} {server.oauth.client_id}".strip()


def _origin_of(server: ServerDefinition) -> str:
    place = urlsplit(server.url)
    return f"{place.scheme.lower()}://{place.netloc.rpartition('@')[2].lower()}"

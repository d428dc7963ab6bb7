"""Shared sessions of this machine: where each listens, and the secret for its clients; and the sockets themselves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.frontends.serve.socket_path import is_private, remove_socket, usable_path
from agentcli.system.paths import folder, replace_file

FOLDER = "live"
"""The folder of the registrations in the state folder."""
LINE = 1_000_000
"""Bytes of a request on a control socket."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Registration:
    """A shared session."""

    session: str
    pid: int
    """Its process."""
    socket: str
    """Its control socket."""
    secret: str
    """The secret that a client sends first."""
    front: str = ""
    """The program that opened it."""


class Served:
    """Control socket of a session, open until `close`, and its registration."""

    def __init__(self, state: Path, front: str) -> None:
        self._live, self._front = state / FOLDER, front
        self.secret = secrets.token_urlsafe(32)
        self._server: asyncio.Server | None = None
        self._file: Path | None = None
        self._path: Path | None = None

    async def open(self, session: str, serve: Serve) -> None:
        """Listen on a socket that only this user can reach, and register it. Raises InputError if that fails."""
        try:
            live = folder(self._live)
            os.chmod(live, 0o700)
            self._path = usable_path(live / f"{os.getpid()}-{secrets.token_hex(4)}.sock")
            self._server = await asyncio.start_unix_server(serve, self._path, limit=LINE)
            os.chmod(self._path, 0o600)
            await self.rename(session)
        except OSError as error:
            await self.close()
            raise InputError(f"Can't share this session: {error.strerror or error}.") from error

    async def rename(self, session: str) -> None:
        """Register under another session's id."""
        former, self._file = self._file, self._live / f"{session}.json"
        made = Registration(session, os.getpid(), str(self._path), self.secret, self._front)
        replace_file(self._file, json.dumps({name: getattr(made, name) for name in made.__slots__}), mode=0o600)
        if former is not None and former != self._file:
            former.unlink(missing_ok=True)

    async def close(self) -> None:
        """Close the socket and remove the registration."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)
        if self._path is not None:
            remove_socket(self._path)


def registrations(state: Path) -> Iterator[Registration]:
    """Yield the registrations of living processes; remove the others."""
    for file in sorted((state / FOLDER).glob("*.json")):
        found = _read(file)
        if found is None:
            continue
        if _is_alive(found):
            yield found
        else:
            _remove(file, found)


def registration(state: Path, session: str) -> Registration | None:
    """Return a session's registration by its complete id; None if it is not shared."""
    return next((found for found in registrations(state) if found.session == session), None)


def _read(file: Path) -> Registration | None:
    try:
        raw = json.loads(file.read_bytes())
        return Registration(
            str(raw["session"]), int(raw["pid"]), str(raw["socket"]), str(raw["secret"]), str(raw.get("front", ""))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_alive(found: Registration) -> bool:
    """Return True if a process listens on the socket.

    A process id would not show it: it may be another's by now, or a zombie's.
    """
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(1.0)
        try:
            tried.connect(found.socket)
        except (TimeoutError, BlockingIOError):
            return True  # it is busy
        except OSError:
            return False
    return True


def _remove(file: Path, found: Registration) -> None:
    """Remove what a killed process has left, unless another one has just registered the session.

    A file can contain any path: only a socket at a place where `Served` creates its own is removed.
    """
    if _read(file) == found:
        with contextlib.suppress(OSError):
            file.unlink()
    path = Path(found.socket)
    if path.parent == file.parent or is_private(path):
        remove_socket(path)

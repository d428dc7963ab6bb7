"""Access to the server: tokens, one-time login links, and a limit on wrong ones."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.frontends.serve.socket_path import SOCKET, linked_path
from agentcli.system import probe
from agentcli.system.paths import folder, replace_file

FOLDER = "serve"
"""The folder of the tokens in the state folder."""
LINK_SECONDS = 300.0
"""Seconds for which a login link is valid."""
PAGE_SECONDS = 12 * 3600.0
"""Seconds for which a page stays logged in."""
TUNNEL = 8020
"""Port of a tunnel to the socket, by our advice."""
LINKS, PAGES = 20, 50
"""Links and pages at once; the oldest end first."""
WRONG, PERIOD = 10, 60.0
"""Wrong tokens in so many seconds after which further wrong ones must wait."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions of a token. `name` is what others see of its holder."""

    read_only: bool
    name: str


Refused = Literal["unknown", "limited"]


class Access:
    """Tokens of one server. Only hashes of tokens are compared, in constant time.

    Wrong tokens never lock anyone out: any user of the machine can send them. A token is too long to guess.

    `place` is the server's port. A page's token is valid only for that port. The page gives the token to any program
    that listens there.
    """

    def __init__(self, state: Path, place: int, clock: Callable[[], float] = time.time) -> None:
        """Create the token files if there are none. Raises OSError."""
        self._folder, self._place, self._clock = folder(state / FOLDER), place, clock
        self._links: dict[str, tuple[float, bool]] = {}
        self._wrong: deque[float] = deque()
        self._files = {
            _hash(self._token("token")): Grant(False, "a program with the token"),
            _hash(self._token("token-read")): Grant(True, "a program with the token to read"),
        }

    @property
    def address(self) -> str:
        """Address of the page on this machine; for a socket, the one to which a tunnel leads by our advice."""
        return f"http://127.0.0.1:{self._place or TUNNEL}"

    def check(self, authorization: str) -> Grant | Refused:
        """Return what the value of an Authorization header allows."""
        kind, _, token = authorization.partition(" ")
        given = _hash(token.strip()) if kind.lower() == "bearer" else ""
        found = next((grant for known, grant in self._grants() if hmac.compare_digest(known, given)), None)
        return found or self._refused()

    def link(self, read_only: bool) -> str:
        """Return the code of a new login link. It can be used once."""
        code = secrets.token_urlsafe(32)
        self._links[_hash(code)] = self._clock() + LINK_SECONDS, read_only
        while len(self._links) > LINKS:
            del self._links[next(iter(self._links))]
        return code

    def log_in(self, code: str) -> tuple[str, bool] | Refused:
        """Return a page's token for a link's code, and whether it may only read."""
        expires, read_only = self._links.pop(_hash(code), (0.0, True))
        if expires <= self._clock():
            return self._refused()
        token = secrets.token_urlsafe(32)
        page = {
            "hash": _hash(token),
            "read_only": read_only,
            "expires": self._clock() + PAGE_SECONDS,
            "place": self._place,
        }
        self._save([*self._pages(), page][-PAGES:])
        return token, read_only

    def log_out(self, authorization: str) -> None:
        """Forget a page's token."""
        given = _hash(authorization.partition(" ")[2].strip())
        self._save([page for page in self._pages() if page["hash"] != given])

    def _refused(self) -> Refused:
        """Count a wrong token."""
        now = self._clock()
        while self._wrong and now - self._wrong[0] > PERIOD:
            self._wrong.popleft()
        if len(self._wrong) >= WRONG:
            return "limited"
        self._wrong.append(now)
        return "unknown"

    def _grants(self) -> list[tuple[str, Grant]]:
        pages = [(str(page["hash"]), Grant(bool(page["read_only"]), "the page")) for page in self._pages()]
        return [*self._files.items(), *pages]

    def _pages(self) -> list[Mapping[str, Any]]:
        """Return the pages that are logged in here; they stay so after a restart of the server."""
        try:
            found = json.loads((self._folder / "pages.json").read_bytes())
            return [page for page in found if page["expires"] > self._clock() and page["place"] == self._place]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _save(self, pages: list[Mapping[str, Any]]) -> None:
        replace_file(self._folder / "pages.json", json.dumps(pages), mode=0o600)

    def _token(self, name: str) -> str:
        """Return the token in a file, created if there is none."""
        file = self._folder / name
        if not probe.exists(file):
            replace_file(file, secrets.token_urlsafe(32) + "\n", mode=0o600)
        return file.read_text(encoding="ascii").strip()


def main_token(state: Path) -> str:
    """Return the server's token. Raises InputError if there is none yet."""
    try:
        return (state / FOLDER / "token").read_text(encoding="ascii").strip()
    except OSError:
        raise InputError("No server has run yet. `agentcli serve` starts one.") from None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def new_link(state: Path, read_only: bool) -> str:
    """Request another login link from the server that runs. Raises InputError if none runs."""
    connection = _Local(linked_path(state / FOLDER / SOCKET))
    headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {main_token(state)}"}
    try:
        connection.request("POST", "/api/link", json.dumps({"read_only": read_only}), headers)
        answer = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise InputError("No server runs. `agentcli serve` starts one.") from error
    finally:
        connection.close()
    if "code" not in answer:
        raise InputError(str(answer.get("error")))
    return f"{answer.get('address')}/#login={answer['code']}"


class _Local(http.client.HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = str(path)

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

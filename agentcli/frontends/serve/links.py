"""Another login link, from the server that runs."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.frontends.serve.access import FOLDER, main_token
from agentcli.frontends.serve.socket_path import SOCKET, linked_path


def new_link(state: Path, read_only: bool) -> str:
    """Request a login link from the server. Raises InputError if none runs."""
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

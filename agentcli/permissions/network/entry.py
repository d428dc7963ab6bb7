"""Listening socket inside the sandbox's network. A helper process creates it there and passes it to this process."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

_SECONDS = 10.0
_MAKE = (
    "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(64); "
    "socket.send_fds(socket.socket(fileno=0), [b'.'], [s.fileno()])"
)
"""The whole helper. A socket stays in the network in which it was created, whichever process accepts its connections."""


def listening_in(entering: Sequence[str]) -> socket.socket | None:
    """Return a socket that listens on the loopback of the network that `entering` enters; None if that fails."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_SECONDS)
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [*entering, sys.executable, "-I", "-S", "-c", _MAKE],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=True,
            )
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            if descriptors:
                found = socket.socket(fileno=descriptors[0])
                found.setblocking(False)
                return found
    return None

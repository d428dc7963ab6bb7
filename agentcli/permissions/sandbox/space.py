"""Parts of the sandbox that last as long as a run: the /tmp of its commands, and their own loopback.

Later commands, and nobody else, can then reach servers that a command starts in the background.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from agentcli.core.dataclass import dataclass
from agentcli.permissions.sandbox.box import entrance_program
from agentcli.permissions.sandbox.private_tmp import PrivateTmp

_LISTENING = "0A"
_TABLES = ("tcp", "tcp6")
_READY = b"."


@dataclass(frozen=True, slots=True)
class _Holder:
    """The process that keeps a network namespace; it ends when its input is closed, at the latest with this process."""

    process: subprocess.Popen[bytes]
    pid: int
    """The id of the process inside the namespace."""


class PrivateSpace:
    """The /tmp and the loopback of one run's sandboxed commands; the loopback is created on demand."""

    def __init__(self, program: str, tmp: PrivateTmp) -> None:
        """`program` is bubblewrap."""
        self._program, self.path = program, tmp.path
        self._holder: _Holder | None = None
        self._failed = False
        self._remove = tmp.remove

    def entering(self) -> Sequence[str]:
        """Return the words before a command that put it into the run's network; none if no such network is possible."""
        entrance = entrance_program()
        if self._failed or entrance is None:
            return ()
        if self._holder is None or self._holder.process.poll() is not None:
            self._holder = _holder(self._program)
            self._failed = self._holder is None
        if self._holder is None:
            return ()
        return (entrance, "--preserve-credentials", "--user", "--net", "--target", str(self._holder.pid))

    def same_port(self, port: int) -> bool:
        """Return True if a sandboxed command reaches the same thing at a loopback port as outside.

        That holds for a server that was started in the sandbox, and without a server on either side.
        """
        inside = served_ports(f"/proc/{self._holder.pid}/net") if self._holder is not None else frozenset()
        return port in inside or port not in served_ports()

    def close(self) -> None:
        """Remove the folder, and let the network go."""
        self._remove()
        if self._holder is not None and self._holder.process.stdin is not None:
            self._holder.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._holder.process.wait(1)
            self._holder = None


def _holder(program: str) -> _Holder | None:
    """Start the process that keeps a network namespace; None if it does not start."""
    shows, told = os.pipe()
    script = f"printf {_READY.decode()}; exec cat >/dev/null"
    argv = [program, "--unshare-user", "--unshare-net", "--dev-bind", "/", "/"]
    try:
        process = subprocess.Popen(
            [*argv, "--info-fd", str(told), "--", "/bin/sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(told,),
            start_new_session=True,
        )
    except OSError:
        os.close(shows)
        return None
    finally:
        os.close(told)
    with os.fdopen(shows, "rb") as info:
        found = info.read()
    assert process.stdout is not None
    with process.stdout as output:
        ready = output.read(1) == _READY

    try:
        return _Holder(process, int(json.loads(found)["child-pid"])) if ready else None
    except (ValueError, KeyError):
        return None


def served_ports(folder: str = "/proc/net") -> frozenset[int]:
    """Return the ports on which processes of a network namespace listen, from the kernel's tables; none if they are
    unreadable.
    """
    ports: set[int] = set()
    for table in _TABLES:
        with suppress(OSError, ValueError, IndexError), open(f"{folder}/{table}", encoding="ascii") as rows:
            next(rows, "")
            fields = (row.split() for row in rows)
            ports.update(int(row[1].rpartition(":")[2], 16) for row in fields if row[3] == _LISTENING)
    return frozenset(ports)

"""Process supervisor (Linux subreaper): starts commands, and ends them with all their descendants.

It runs as `python -I -S supervisor.py`, with a socket as standard input, and imports only the standard library. For
each request it forks a watcher, which becomes the subreaper of its processes. Even a process that detaches itself
(setsid, double fork, an empty environment) remains below its watcher. The watcher can therefore find and end it. If
agentcli dies, the sockets close, and all processes end too.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_FDS = 2
"""Minimum descriptors of a request: output and control; then separate standard error and a channel, if there are any."""
_READ_LAST = 250
"""Number under which the watcher keeps the content that a sandbox reads last, apart from all numbers of a command."""
_SURE = 3
"""Searches in a row that must find no process if spared children remain alive."""
_ENDING = 0.05
"""Seconds for which a descendant may outlive its command before it counts as left running."""


def main() -> None:
    """Serve until the other side of standard input is closed."""
    server = socket.socket(fileno=0)
    wakeup = _prepare()
    watchers: set[int] = set()
    while True:
        ready, _, _ = select.select([server.fileno(), wakeup], [], [])
        drain(wakeup)
        _bury(watchers)
        if server.fileno() not in ready:
            continue
        request = receive(server)
        if request is None:
            return
        command, (out, control, *more) = request
        pid = os.fork()
        if pid == 0:
            server.close()
            channel = more.pop() if command.get("channel") else -1
            _watch(command, (out, *(more or [out])), control, channel)
            os._exit(0)
        watchers.add(pid)
        for descriptor in (out, control, *more):
            os.close(descriptor)


def receive(server: socket.socket, most: int = _FDS + 2) -> tuple[dict[str, Any], list[int]] | None:
    """Receive the next request with its descriptors; None at the end."""
    head, fds, _, _ = socket.recv_fds(server, 4, most)
    if len(head) < 4 or len(fds) < _FDS:
        return None
    size = int.from_bytes(head, "big")
    body = b""
    while len(body) < size:
        piece = server.recv(min(size - len(body), 1 << 16))
        if not piece:
            return None
        body += piece
    return json.loads(body), fds


def _prepare() -> int:
    """Adopt orphans and wake up when a child ends; return a descriptor that becomes readable then."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return woken_by_children()


def woken_by_children() -> int:
    """Wake up when a child ends; return a descriptor that is readable from then until it is drained."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read


def _bury(watchers: set[int]) -> None:
    """Reap watchers that have ended. If one was killed, its processes become ours and are ended here."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in watchers:
            watchers.discard(pid)
            if status:
                _end_all(0.0, spared=frozenset(watchers))


def _watch(request: dict[str, Any], outputs: tuple[int, ...], control: int, own: int = -1) -> None:
    """Start one command, report its end, and end all its processes, unless `leaves` is set."""
    os.setsid()
    wakeup = _prepare()
    channel = socket.socket(fileno=control)
    told = _Told(request["tells"]) if request.get("tells") else None
    if last := request.get("last"):
        _hand(_READ_LAST, request["files"].pop(str(last)).encode("latin-1"))
    command = os.fork()
    if command == 0:
        _become(request, outputs[0], outputs[1], told, own)
    for output in {*outputs, *([own] if own >= 0 else ())}:
        os.close(output)
    status = _until_ended(command, channel, wakeup)
    if status is None:  # asked to stop, or agentcli is gone
        status = _end_all(request["grace"], watched=command)
        _report(channel, {"exit": _code(status), "left": 0})
    else:
        left = _left_running()
        unread = bool(last) and _unread(_READ_LAST)
        report = {"exit": _code(status), "left": len(left), "told": told.read() if told else "", "unread": unread}
        _report(channel, report)
        if _has_children() and not request["leaves"]:
            _end_all(request["grace"] / 2)
    _report(channel, {"done": True})


def _left_running() -> set[int]:
    """Return the descendants that outlive their command, except a sandbox's first process and those just ending."""
    deadline = time.monotonic() + _ENDING
    left = _outliving() if _has_children() else set()
    while left and time.monotonic() < deadline:
        time.sleep(0.002)
        left = _outliving()
    return left


def _outliving() -> set[int]:
    return {pid for pid in _descendants() if not _starts_namespace(pid)}


def _starts_namespace(pid: int) -> bool:
    """Return True for the first process of an inner process namespace: a sandbox's own, which ends with its contents."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            line = next((line for line in status if line.startswith(b"NSpid:")), b"")
    except OSError:
        return False
    numbers = line.split()[1:]
    return len(numbers) > 1 and numbers[-1] == b"1"


class _Told:
    """A pipe for a command's report beside its output, at a descriptor of this number.

    Text that arrives late is not read.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._read, self._write = os.pipe()

    def hand(self) -> None:
        """Let this process, which becomes the command, write to it."""
        os.dup2(self._write, self._number)

    def read(self) -> str:
        """Return the report."""
        os.set_blocking(self._read, False)
        try:
            return os.read(self._read, 1024).decode("ascii", "replace")
        except BlockingIOError:
            return ""


def _become(request: dict[str, Any], out: int, errors: int, told: _Told | None = None, own: int = -1) -> None:
    """Turn this process into the command; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(_source(request["input"]), 0)
        os.dup2(out, 1)
        os.dup2(errors, 2)
        if told is not None:
            told.hand()
        if own >= 0:
            os.dup2(own, request["channel"])
        last = request.get("last")
        kept = sorted(filter(None, (request["tells"], request.get("channel"), last and _READ_LAST)))
        for first, end in zip((3, *(number + 1 for number in kept)), (*kept, 256), strict=True):
            os.closerange(first, end)
        for number, data in request["files"].items():
            _hand(int(number), data.encode("latin-1"))
        if last:
            os.dup2(_READ_LAST, last)
            os.close(_READ_LAST)
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except (OSError, ValueError) as error:
        os.write(2, f"The command could not be started: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _source(text: str) -> int:
    """Return a descriptor from which to read this text.

    It is a file, so nothing waits for a command that does not read it.
    """
    if not text:
        return os.open(os.devnull, os.O_RDONLY)
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        return os.dup(file.fileno())


def _hand(number: int, data: bytes) -> None:
    """Let the command read the data from this descriptor; a pipe holds all of it at once."""
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    if read == number:
        os.set_inheritable(read, True)
    else:
        os.dup2(read, number)
        os.close(read)


def _unread(number: int) -> bool:
    """Return True if the command has not read the data that it was given at a descriptor."""
    os.set_blocking(number, False)
    try:
        return bool(os.read(number, 1))
    except BlockingIOError:
        return False


def _until_ended(command: int, channel: socket.socket, wakeup: int) -> int | None:
    """Return the wait status of the command, or None if it must be stopped first."""
    while True:
        ready, _, _ = select.select([channel.fileno(), wakeup], [], [])
        drain(wakeup)
        status = _reap(command)
        if status is not None:
            return status
        if channel.fileno() in ready:
            return None


def _end_all(grace: float, watched: int = 0, spared: frozenset[int] = frozenset()) -> int | None:
    """Send TERM to every process below this one, then KILL to those left after `grace` seconds.

    Return the status of `watched`, if it ended.
    """
    status: int | None = None
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 1.0)):
        if number == signal.SIGKILL:
            _freeze(spared)
        elif not grace:
            continue
        deadline = time.monotonic() + patience
        asked: set[int] = set()
        unseen = 0
        while time.monotonic() < deadline:
            left = _descendants(spared)
            # Each process, even a new one, gets TERM once; it may need KILL more than once.
            _send(number, left - asked)
            asked = asked | left if number == signal.SIGTERM else asked
            found = _reap(watched)
            status = found if status is None else status
            # The process list is read piece by piece: a process that forks and exits meanwhile may hide its child.
            unseen = 0 if left else unseen + 1
            if not left and (not _has_children() or (spared and unseen > _SURE)):
                return status
            time.sleep(0.005)
    return status


def _has_children() -> bool:
    """Return True if any child is left, living or dead; a subreaper without children has no descendants."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _freeze(spared: frozenset[int]) -> None:
    """Stop every process below this one, so that none can fork to escape the following KILL."""
    stopped: set[int] = set()
    for _ in range(50):
        fresh = _descendants(spared) - stopped
        if not fresh:
            return
        _send(signal.SIGSTOP, fresh)
        stopped |= fresh


def _send(number: int, pids: set[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
            if number == signal.SIGTERM:
                os.kill(pid, signal.SIGCONT)  # a stopped process would not receive it
        except (ProcessLookupError, PermissionError):
            continue


def _reap(watched: int) -> int | None:
    """Reap all dead children; return the wait status of the watched one if it is among them."""
    status = None
    while True:
        try:
            pid, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == watched:
            status = found


def _descendants(spared: frozenset[int] = frozenset()) -> set[int]:
    """Return all living processes beneath this one, except the spared ones and their descendants."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in spared and pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found


def _processes() -> list[tuple[int, int]]:
    """Return every living process with its parent."""
    if sys.platform != "linux":
        import subprocess

        listed = subprocess.run(["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        pairs = [line.split() for line in listed.splitlines()]
        return [(int(pid), int(parent)) for pid, parent in pairs]
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    state, parent = stat.read().rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue  # gone meanwhile
            if state not in (b"Z", b"X"):
                found.append((int(name), int(parent)))
    return found


def _code(status: int | None) -> int | None:
    """Return the exit code as a shell reports it: 128 plus the signal for a killed process."""
    if status is None:
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _report(channel: socket.socket, news: dict[str, Any]) -> None:
    with suppress(OSError):  # the other side has closed
        channel.sendall(json.dumps(news).encode() + b"\n")


def drain(wakeup: int) -> None:
    """Read everything from a descriptor that children make readable."""
    with suppress(BlockingIOError):
        while os.read(wakeup, 512):
            pass


if __name__ == "__main__":
    main()

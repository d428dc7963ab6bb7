"""Run a command until it ends, times out or is interrupted; then none of its processes remains."""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import json
import os
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ToolError
from agentcli.core.tasks import start_task
from agentcli.core.tool import Boxed

GRACE = 1.0
"""Seconds between TERM and KILL."""
CHANNEL = 3
"""Descriptor of the channel in a command that has one."""
_PIPE = 1 << 20
"""Capacity of a pipe in bytes: the maximum that Linux grants to all users. Long outputs then need few reads."""
_F_SETPIPE_SZ = 1031

_NULL = "/dev/null"

RESTARTS = 2
"""Maximum times to build a sandbox again if it fails before its command starts."""
_REPORTING = (b"bwrap: ", b"nsenter: ")
"""Beginnings of the messages with which a sandbox fails."""
_LONGEST_NAME = max(map(len, _REPORTING))
_MESSAGES = 8_192
"""Maximum bytes of such messages; more is the output of a command."""


def may_live(pid: int) -> bool:
    """Return False if no process has this number, in the namespace of this one."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is another user's
    return True


class Sink(Protocol):
    """A receiver of a command's output."""

    @property
    def enough(self) -> int:
        """Return how many of the last bytes are still wanted; 0 for all."""
        ...

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece; `skipped` unwanted bytes before it were discarded.

        Copy what is needed later: the memory is reused.
        """
        ...


class LimitedSink:
    """A sink that keeps up to `most` bytes of an output, and sets `flooded` if there is more."""

    def __init__(self, most: int) -> None:
        self.enough = 0
        self.flooded = asyncio.Event()
        self.data = bytearray()
        self._most = most

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece."""
        if skipped or len(self.data) + len(piece) > self._most:
            self.enough = 1  # the rest is thrown away unread
            self.flooded.set()
        else:
            self.data += piece


Why = Literal["exit", "timeout", "idle", "interrupted"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run: argv, folder, environment and standard input."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    input: str = ""
    leaves: bool = False
    """Let processes continue that the command leaves behind when it exits by itself.

    Users may start programs that way.
    """
    files: Mapping[int, bytes] = field(default_factory=dict)
    """Contents of further descriptors, by their numbers."""
    sandbox_files: Mapping[int, bytes] = field(default_factory=dict)
    """Contents of the descriptors that the sandbox reads, by their numbers."""
    read_last: int = 0
    """The number among these that a sandbox reads once it is complete; 0 for none."""
    again: Callable[[int], Boxed] | None = None
    """Builds the sandbox again from a part on if it failed before that started; None without a sandbox."""
    tells: int = 0
    """Number of a descriptor to which the command writes a report beside its output; 0 for none."""
    errors: Sink | None = None
    """The receiver of standard error, if separate; None makes it part of the output."""
    channel: socket.socket | None = None
    """Its end of a connection, which it has as descriptor `CHANNEL`."""

    def within(self, boxed: Boxed) -> Command:
        """Return the command as it runs in a sandbox; files that only this command has are kept."""
        return replace(
            self,
            argv=boxed.argv,
            sandbox_files=boxed.files,
            read_last=boxed.read_last,
            again=boxed.again,
            tells=boxed.tells or self.tells,
        )

    def unstarted(self, unread: bool, told: str) -> int | None:
        """Return the part whose sandbox failed before it started, from what is known after the end; None if all did."""
        if self.again is None or self.read_last:
            return 0 if unread else None
        return int(told) if told.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command.

    `exit_code` is None if unknown; `left` counts the processes it left behind, which were ended. `told` is what it told beside its output.
    `unstarted` is the part whose sandbox failed before it started, counted from 0; None if none did.
    """

    why: Why
    exit_code: int | None
    seconds: float
    left: int = 0
    told: str = ""
    unstarted: int | None = None


GoesOn = Callable[[Why], bool]
"""A function called when a command reaches a limit: True lets it continue without limits, False ends it."""


async def run(
    command: Command,
    sink: Sink,
    timeout: float | None,
    idle: float | None,
    free: asyncio.Event | None = None,
    goes_on: GoesOn = lambda _: False,
) -> Ended:
    """Run a command, passing each piece of output to `sink`; `timeout` limits its time, `idle` its silence, in seconds.

    Returns when the command's process ends, even if another process has its output open. Cancelling the task ends the
    command; then this returns normally with `interrupted`. Both limits end once `free` is set, or `goes_on` returns
    True. A sandbox that fails before its command starts is built anew: another process may have removed a path. A line
    in parts goes on with the part that did not start.
    Raises ToolError if no process can be started.
    """
    started, restarts = time.monotonic(), 0
    while True:
        again, held = command.again, _HeldSink(command.errors or sink)
        watched, output = command, sink
        if again is not None and command.errors is not None:
            watched = replace(command, errors=held)
        elif again is not None:
            output = held
        ended = await _run(watched, output, started, timeout, idle, free, goes_on)
        restarts = 0 if ended.unstarted else restarts
        if again is None or ended.unstarted is None or restarts == RESTARTS:
            held.release()
            return ended
        restarts += 1
        try:
            command = command.within(await asyncio.to_thread(again, ended.unstarted))
        except asyncio.CancelledError:
            return replace(ended, why="interrupted")


async def _run(
    command: Command,
    sink: Sink,
    started: float,
    timeout: float | None,
    idle: float | None,
    free: asyncio.Event | None,
    goes_on: GoesOn,
) -> Ended:
    running = _Running(command, sink, started)
    try:
        why = await running.wait(timeout, idle, free or asyncio.Event(), goes_on)
    except asyncio.CancelledError:
        why = "interrupted"
    if why != "exit":
        running.stop()
    await running.finish()
    seconds = time.monotonic() - started
    unstarted = command.unstarted(running.unread, running.told) if why == "exit" else None
    told = running.told if unstarted is None else ""
    return Ended(why, running.exit_code, seconds, running.left, told, unstarted)


class _HeldSink:
    """A sink that keeps the last lines of an output if a sandbox may have printed them.

    They are passed on with what follows, or once it is known that the command has started.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held = b""

    @property
    def enough(self) -> int:
        return 0 if self._held else self._sink.enough

    def add(self, piece: memoryview, skipped: int) -> None:
        if self._held:
            piece = memoryview(self._held + piece)
        passed = len(piece) - _reporting(bytes(piece[-_MESSAGES:]))
        self._held = bytes(piece[passed:])
        if passed or skipped:
            self._sink.add(piece[:passed], skipped)

    def release(self) -> None:
        """Pass on what was kept."""
        held, self._held = self._held, b""
        if held:
            self._sink.add(memoryview(held), 0)


def _reporting(text: bytes) -> int:
    """Return how many bytes the lines at the end have with which a sandbox fails."""
    end = len(text)
    while end:
        start = text.rfind(b"\n", 0, end - 1) + 1
        begun = text[start : min(end, start + _LONGEST_NAME)]
        if not any(begun.startswith(name[: len(begun)]) for name in _REPORTING):
            break
        end = start
    return len(text) - end


async def run_until(interrupt: asyncio.Event, command: Command, sink: Sink, timeout: float | None = None) -> Ended:
    """Run a command like `run`; the event stops it. A cancelled task raises as usual, once the command has ended."""
    running = start_task(run(command, sink, timeout, None))
    stop = start_task(interrupt.wait())
    try:
        await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        running.cancel()
        await asyncio.wait({running})
    return running.result()


class _Running:
    """A running command: the pipe of its output, and its control socket."""

    def __init__(self, command: Command, sink: Sink, started: float) -> None:
        self.exit_code: int | None = None
        self.left = 0
        self.told = ""
        self.unread = False
        self._started, self._heard = started, time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._done = asyncio.Event()
        self._news = b""
        self._control, theirs = socket.socketpair()
        sinks = [sink] if command.errors is None else [sink, command.errors]
        self._outputs = [_Output(self._loop, each, self._note) for each in sinks]
        write = [output.write for output in self._outputs]
        try:
            own = [command.channel.fileno()] if command.channel is not None else []
            _supervisor().start(command, write[0], theirs.fileno(), *write[1:], *own)
        except OSError as error:
            self._control.close()
            for output in self._outputs:
                output.close()
            raise ToolError(f"No process can be started: {error}") from error
        finally:
            for descriptor in write:
                os.close(descriptor)
            theirs.close()
        self._control.setblocking(False)
        for output in self._outputs:
            output.begin()
        self._loop.add_reader(self._control, self._hear)

    async def wait(self, timeout: float | None, idle: float | None, free: asyncio.Event, goes_on: GoesOn) -> Why:
        """Wait until the command ends, or reaches its limit of time or silence; return the reason."""
        while not self._ended.is_set():
            if free.is_set():
                timeout = idle = None
            now = time.monotonic()
            total_left = timeout - (now - self._started) if timeout is not None else None
            idle_left = idle - (now - self._heard) if idle is not None else None
            reached: Why | None = None
            if total_left is not None and total_left <= 0:
                reached = "timeout"
            elif idle_left is not None and idle_left <= 0:
                reached = "idle"
            if reached is not None and not goes_on(reached):
                return reached
            if reached is not None:
                free.set()
                continue
            waits = [left for left in (total_left, idle_left) if left is not None]
            try:
                await asyncio.wait_for(self._ended.wait(), min(waits) if waits else None)
            except TimeoutError:
                continue
        return "exit"

    def stop(self) -> None:
        """Ask the watcher to end the whole process tree."""
        with suppress(OSError):  # it ended meanwhile
            self._control.send(b"stop\n")

    async def finish(self) -> None:
        """Wait until no process is left, take the remaining output, and close.

        A second cancellation does not shorten this.
        """
        deadline = time.monotonic() + 2 * GRACE + 1
        while not self._done.is_set() and time.monotonic() < deadline:
            try:
                await asyncio.wait_for(self._done.wait(), deadline - time.monotonic())
            except (TimeoutError, asyncio.CancelledError):
                continue
        self._loop.remove_reader(self._control)
        self._control.close()
        # They refer to this object, which would otherwise live until a garbage collection.
        while self._outputs:
            self._outputs.pop().finish()

    def _note(self) -> None:
        """Note that the command has just printed something."""
        self._heard = time.monotonic()

    def _hear(self) -> None:
        """Read news from the watcher; if its socket closes, the command counts as ended."""
        try:
            piece = self._control.recv(4096)
        except OSError:
            piece = b""
        *lines, self._news = (self._news + piece).split(b"\n")
        for line in lines:
            news = json.loads(line)
            if "exit" in news:
                self.exit_code, self.left, self.told = news["exit"], news["left"], news.get("told", "")
                self.unread = news.get("unread", False)
                self._ended.set()
        if not piece or any(b"done" in line for line in lines):
            self._loop.remove_reader(self._control)
            self._ended.set()
            self._done.set()


class _Output:
    """A pipe that a command prints into; `write` is its other end, `heard` is called for each piece."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sink: Sink, heard: Callable[[], None]) -> None:
        self._loop, self._sink, self._heard = loop, sink, heard
        self._buffer = memoryview(bytearray(_PIPE))
        self._null = os.open(_NULL, os.O_WRONLY | os.O_CLOEXEC)
        self._pipe, self.write = os.pipe()
        _widen(self.write)

    def begin(self) -> None:
        """Start reading."""
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)

    def finish(self) -> None:
        """Take the remaining output, and close."""
        while self._pipe >= 0 and self._read():
            pass
        self.close()

    def close(self) -> None:
        """Close the pipe and free the memory."""
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            os.close(self._null)
            self._pipe = -1
            self._buffer = memoryview(b"")

    def _read(self) -> bool:
        """Read one piece of output; return False if there is none now or ever again."""
        try:
            skipped = self._skip()
            size = os.readv(self._pipe, [self._buffer])
        except BlockingIOError:
            return False
        if not size:
            self.close()
            return False
        self._heard()
        self._sink.add(self._buffer[:size], skipped)
        return True

    def _skip(self) -> int:
        """Discard unwanted bytes without copying them, if the system can; return their number."""
        if not self._sink.enough or not hasattr(os, "splice"):
            return 0
        waiting = int.from_bytes(fcntl.ioctl(self._pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        surplus = waiting - self._sink.enough
        return os.splice(self._pipe, self._null, surplus) if surplus > 0 else 0


class _Supervisor:
    """Client of the supervisor process, which forks the watchers; it starts with the first command and ends with
    agentcli.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        script = Path(__file__).with_name("supervisor.py")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script)],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.close)

    def start(self, command: Command, output: int, control: int, *more: int) -> None:
        """Start a command that writes to `output` and is controlled by `control`.

        `more` are separate standard error and the channel, if the command has them.
        """
        body = json.dumps(_request(command)).encode()
        with self._lock:
            socket.send_fds(self._socket, [len(body).to_bytes(4, "big")], [output, control, *more])
            self._socket.sendall(body)

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the supervisor, and with it all processes that it started."""
        atexit.unregister(self.close)
        self._socket.close()
        try:
            self._process.wait(2 * GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _request(command: Command) -> Mapping[str, Any]:
    request = {"argv": list(command.argv), "cwd": str(command.cwd), "env": dict(command.env), "input": command.input}
    given = {**command.files, **command.sandbox_files}
    files = {str(number): data.decode("latin-1") for number, data in given.items()}
    return {
        **request,
        "files": files,
        "tells": command.tells,
        "last": command.read_last,
        "leaves": command.leaves,
        "grace": GRACE,
        "channel": CHANNEL if command.channel is not None else 0,
    }


def _supervisor() -> _Supervisor:
    with _starting:
        if not _shared_supervisor().alive:
            _shared_supervisor().close()
            _shared_supervisor.cache_clear()
        return _shared_supervisor()


_starting = threading.Lock()


@cache
def _shared_supervisor() -> _Supervisor:
    return _Supervisor()


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):  # the user's share of pipe memory is used up; the usual size works as well
            fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE)

"""One run of a program against the endpoint: its requests, processor time, memory and wall time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.peers.endpoint import Endpoint, Reads, write_files
from tests.bench.peers.programs import MODELS, Peer, Place
from tests.loopback import Asked

SECONDS = 300
"""Seconds after which a run is given up."""
TICK = os.sysconf("SC_CLK_TCK")
_SINKS = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass
class Ran:
    """A run: seconds of wall and processor time, and what the endpoint saw."""

    wall: float = 0.0
    processor: float = 0.0
    clock: Mapping[int, float] = field(default_factory=dict)
    """Seconds of processor time of all its processes when it had made so many reads."""
    peak: int = 0
    """The peaks of resident memory of the processes that lived at the last request, in bytes together."""
    requests: Sequence[Asked] = ()
    fault: str = ""


def play(peer: Peer, wire: str, turns: int, marks: Sequence[int] = ()) -> Ran:
    """A prompt after which the program makes `turns` reads; its clock is read when it has made so many as each of `marks`."""
    ran = Ran()
    clock: dict[int, float] = {}

    def at(done: int) -> None:
        if done in marks and done not in clock:
            clock[done] = sum(map(_spent, _tree(process.pid)))
        if done == turns:
            ran.peak = max(ran.peak, sum(map(_peak, _tree(process.pid))))

    plan = Reads(turns, at)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, Endpoint(plan) as server:
        place = Place(Path(name), server)
        write_files(place)
        plan.play(peer, place.work)
        words, env = [*peer.program, *peer.once(wire, MODELS[wire])], peer.env(place)
        began = time.perf_counter()
        process = subprocess.Popen(words, cwd=place.work, env=env, start_new_session=True, **_SINKS)
        ran.processor, done = _end(process)
        ran.wall = time.perf_counter() - began
        ran.clock, ran.requests = clock, plan.requests
        ran.fault = plan.fault() if done else f"it did not end within {SECONDS} s"
    return ran


def once(peer: Peer, wire: str) -> Ran:
    """A prompt that is answered at once."""
    return play(peer, wire, 0)


def option(peer: Peer, name: str) -> float:
    """Seconds that a program takes for an option such as `--help`."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Endpoint(Reads(0)) as server:
        return command([*peer.program, name], peer.env(Place(Path(folder), server)))


def command(words: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Seconds that a command takes."""
    began = time.perf_counter()
    _end(subprocess.Popen(words, env=env, start_new_session=True, **_SINKS))
    return time.perf_counter() - began


def _end(process: subprocess.Popen[bytes]) -> tuple[float, bool]:
    """Wait for a process; the processor time of it and of its children, and True if it ended by itself.

    No process of its group outlives this, also where the wait is interrupted.
    """
    stop = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    stop.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        stop.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return used.ru_utime + used.ru_stime, process.returncode != -signal.SIGKILL


def _tree(pid: int) -> Iterator[int]:
    """A process and all its descendants that live."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(_fields(int(path.parent.name))[0], []).append(int(path.parent.name))
    waiting = [pid]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += children.get(found, ())


def _spent(pid: int) -> float:
    """Seconds of processor time that a process and its children that ended have used: its own to the nanosecond, theirs in ticks."""
    with contextlib.suppress(OSError):
        fields = _fields(pid)
        return time.clock_gettime((~pid << 3) | 2) + (fields[12] + fields[13]) / TICK
    return 0.0


def _fields(pid: int) -> list[int]:
    """The numbers of /proc/PID/stat behind the state: first the parent, then the 12th and 13th are ticks of children that ended."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return [*map(int, text[text.rindex(")") + 4 :].split())]


def _peak(pid: int) -> int:
    """The peak of a process's resident memory in bytes."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0

"""Cost of readers for a shared session's turn: `python -m tests.bench.bench_serve [--events N] [--readers N] [--rounds N]`.

A session of `agentcli serve` gets a reply of so many pieces. Rounds alternate between no reader and many, of which two read nothing.
Printed are medians and the ratio of both: processor and wall time of the turn in the session's process, and its processor time until all
readers have read to the end. Each reader must have the whole text in order, or one `reload`. At the end come the server's processor time, its peak of
resident memory, the writes of a reader, and the seconds from SIGTERM to the end while a backlog waits.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.e2e.faults import head, tail
from tests.e2e.program import Program
from tests.frontends.serve.server import Serving
from tests.loopback import Bytes, Loopback, anthropic_wire

STALLED = 2
TICKS = os.sysconf("SC_CLK_TCK")
READER = Path(__file__).with_name("serve_readers.py")


@dataclass
class Round:
    """The figures of one turn: seconds of the processor and of the wall, and those until every reader is done."""

    cpu: float
    wall: float
    cpu_all: float
    read: Sequence[dict[str, Any]] = ()


def reply(events: int, text: str = "") -> bytes:
    """The body of a streamed reply with so many pieces of text, by default a word each."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    pieces = (
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in ([text] * events if text else texts(events))
    )
    lines = [head(), start, *pieces, {"type": "content_block_stop", "index": 0}, *tail("end_turn")]
    return b"".join(map(anthropic_wire.line, lines))


def texts(events: int) -> Sequence[str]:
    """The pieces: a word each, and a line's end after twelve."""
    return [f"word{n}{' ' if n % 12 else chr(10)}" for n in range(events)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if a reader got something wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    body = reply(given.events)
    wrong = 0
    with tempfile.TemporaryDirectory() as name, Loopback(lambda _: Bytes(body), strict=False) as loopback:
        program = Program(Path(name), more=loopback.env)
        program.config('model = "anthropic/claude-haiku-5-5"\n')
        rounds: dict[int, list[Round]] = {0: [], given.readers: []}
        with Serving(program) as server:
            server.log_in()
            began = spent(server.process.pid)
            for _ in range(given.rounds):
                for readers, found in rounds.items():
                    found.append(_turn(program, server, readers, given.events))
            seconds, peak = spent(server.process.pid) - began, memory(server.process.pid, "VmHWM")
            ends = _ended(program, server, given.readers)
    whole = "".join(texts(given.events))
    for each in (each for one in rounds[given.readers] for each in one.read):
        fine = each["reloads"] == 1 or (each["reloads"] == 0 and each["size"] == len(whole))
        wrong += not (each["stalled"] or fine)
    for what in ("cpu", "wall", "cpu_all"):
        without, among = (median(getattr(one, what) for one in rounds[count]) for count in (0, given.readers))
        print(
            f"{what:8} {without:6.2f} s without, {among:6.2f} s with {given.readers} readers: {among / without:.2f} x"
        )
    read = [each for one in rounds[given.readers] for each in one.read if not each["stalled"]]
    print(
        f"server   {seconds / given.rounds:6.2f} s a round, peak {peak / 1000:.0f} MB; a reader: {median(each['reads'] for each in read):.0f} reads, "
        f"{median(each['events'] for each in read):.0f} events, {sum(each['reloads'] for each in read)} reloads; {wrong} wrong"
    )
    print(f"server   ends {ends:.2f} s after SIGTERM, with {STALLED} stalled readers and a turn that runs")
    return 1 if wrong else 0


def _turn(program: Program, server: Serving, readers: int, events: int) -> Round:
    """Run one turn in a new session, with so many readers."""
    session = server.post("/api/sessions", {"folder": str(program.work), "mode": "auto"}).json["session"]
    pid = _pid(program, session)
    following = _readers(server, session, readers) if readers else None
    time.sleep(0.5)
    cpu, wall = spent(pid), time.perf_counter()
    server.post(f"/api/sessions/{session}/say", {"text": "go"})
    while not _answered(program, session):
        time.sleep(0.01)
    after, ended = spent(pid), time.perf_counter()
    told = [json.loads(line) for line in following.communicate(timeout=120)[0].splitlines()] if following else []
    done = Round(after - cpu, ended - wall, spent(pid) - cpu, told)
    os.kill(pid, signal.SIGTERM)
    _wait(pid)
    return done


def _readers(server: Serving, session: str, count: int) -> subprocess.Popen[str]:
    """Start readers in a process of their own, once all of them follow."""
    cursor = server.get(f"/api/sessions/{session}").json["cursor"]
    asked = [str(server.port), server.token, session, cursor, str(count), str(STALLED)]
    process = subprocess.Popen([sys.executable, str(READER), *asked], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "follow\n"
    return process


def _answered(program: Program, session: str) -> bool:
    """True once the reply is stored."""
    for folder in program.sessions.glob(f"*/{session}/records"):
        if len([*folder.iterdir()]) >= 2:
            return any('"assistant"' in path.read_text()[:2000] for path in folder.iterdir() if path.suffix == ".json")
    return False


def _pid(program: Program, session: str) -> int:
    """The process of a session."""
    return next(int(each["pid"]) for each in json.loads(program.run("ps", "--json").out) if each["session"] == session)


def _wait(pid: int) -> None:
    """Wait until a process has ended."""
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


def _ended(program: Program, server: Serving, readers: int) -> float:
    """Seconds from SIGTERM to the server's end, amid a turn that readers follow."""
    session = server.post("/api/sessions", {"folder": str(program.work), "mode": "auto"}).json["session"]
    pid = _pid(program, session)
    following = _readers(server, session, readers)
    threading.Thread(target=server.post, args=(f"/api/sessions/{session}/say", {"text": "go"}), daemon=True).start()
    time.sleep(1)
    began = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(30)
    seconds = time.perf_counter() - began
    following.kill()
    following.communicate()
    os.kill(pid, signal.SIGTERM)
    _wait(pid)
    return seconds


def spent(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int, what: str = "VmRSS") -> int:
    """Memory of a process in kB."""
    return int(Path(f"/proc/{pid}/status").read_text().split(f"{what}:")[1].split()[0])


if __name__ == "__main__":
    sys.exit(main())

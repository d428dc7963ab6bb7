"""A thousand events a second for a minute, read at once over the server, a socket and ACP: nothing lost, nothing twice, in order, memory flat."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.event import Noticed
from agentcli.frontends.serve import client
from agentcli.frontends.serve.control import share
from agentcli.frontends.serve.registry import Registration, registration
from agentcli.providers.scripted.model import say
from tests.e2e.program import Program
from tests.frontends.serve.editor import Editor
from tests.frontends.serve.front import ScriptedFront
from tests.frontends.serve.server import Serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RATE, SECONDS = 1000, 60
READERS = 2


def resident(pid: int | str = "self") -> int:
    """Resident memory of a process in kB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


class Producer:
    """A shared session in a thread of its own, in this process, which emits numbered notices at a steady rate."""

    def __init__(self, folder: Path, state: Path, seconds: int = SECONDS) -> None:
        self._folder, self._state, self._count = folder, state, RATE * seconds
        self.memory: list[int] = []
        self.session = ""
        self._ready, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def start(self) -> str:
        self._thread.start()
        assert self._ready.wait(20)
        return self.session

    def go(self) -> None:
        self._go.set()

    def join(self) -> None:
        self._thread.join()

    async def _run(self) -> None:
        front = ScriptedFront(self._folder, [say("Hi.")])
        front.sharing.start = partial(share, state=self._state, clean=str)
        await front.sharing.begin()
        self.session = front.session.journal.id
        self._ready.set()
        await asyncio.to_thread(self._go.wait)
        began, sent = time.monotonic(), 0
        while sent < self._count:
            due = min(self._count, int((time.monotonic() - began) * RATE))
            for n in range(sent, due):
                front.sharing.show([Noticed(f"{n}")])
            if due // (5 * RATE) != sent // (5 * RATE):
                self.memory.append(resident())
            sent = due
            await asyncio.sleep(0.01)
        await asyncio.sleep(5)
        await front.sharing.end()


def numbers(events: Iterator[tuple[str, dict[str, object]]]) -> list[int]:
    found: list[int] = []
    for _, event in events:
        if event["type"] == "warning":
            found.append(int(str(event["message"])))
        if len(found) == RATE * SECONDS or event["type"] in ("reload", "ended"):
            break
    return found


async def followed(to: Registration, after: str) -> list[int]:
    found: list[int] = []
    async for batch in client.follow(to, "terminal", after):
        events = [item.event for item in batch]
        found += [int(event["message"]) for event in events if event["type"] == "warning"]
        if len(found) == RATE * SECONDS:
            break
    return found


class Numbers:
    """The numbers that an editor is sent, and the memory of its agent at first and at last."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.all = threading.Event()

    def take(self, message: dict[str, Any]) -> bool:
        update = message.get("params", {}).get("update", {})
        if update.get("sessionUpdate") != "agent_thought_chunk" or not update["content"]["text"].isdecimal():
            return False
        self.found.append(int(update["content"]["text"]))
        if len(self.found) == RATE * SECONDS:
            self.all.set()
        return True


def test_nothing_is_lost_nothing_comes_twice_and_memory_stays_flat(tmp_path: Path) -> None:
    program = Program(tmp_path)
    state = tmp_path / "state" / "agentcli"
    edited = Numbers()
    with Serving(program) as server, Editor(program, takes=edited.take) as editor:
        server.log_in()
        producer = Producer(tmp_path / "work", state)
        session = producer.start()
        to = registration(state, session)
        assert to is not None
        cursor = server.get(f"/api/sessions/{session}").json["cursor"]
        found: list[list[int]] = []

        def read() -> None:
            found.append(numbers(server.events(session, cursor)))

        def terminal() -> None:
            found.append(asyncio.run(followed(to, cursor)))

        editor.load(session)
        readers = [threading.Thread(target=read) for _ in range(READERS)] + [threading.Thread(target=terminal)]
        for reader in readers:
            reader.start()
        time.sleep(1)
        before = resident(server.process.pid), resident(editor.process.pid)
        producer.go()
        for reader in readers:
            reader.join()
        edited.all.wait(20)
        after = resident(server.process.pid), resident(editor.process.pid)
        producer.join()
    print(f"read {[len(each) for each in found]}, by the editor {len(edited.found)}")
    for each in (*found, edited.found):
        assert each == list(range(RATE * SECONDS))
    print(f"server and editor's agent {before} -> {after} kB, session {producer.memory} kB")
    assert after[0] - before[0] < 20_000
    assert after[1] - before[1] < 20_000
    settled = producer.memory[3:]  # the kept events have their size by then; the lists of this test grow
    assert max(settled) - min(settled) < 40_000


def slow_reader(server: Serving, session: str, cursor: str) -> socket.socket:
    """A reader of events that reads nothing."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # else the system keeps all events for it
    slow.connect(("127.0.0.1", server.port))
    slow.sendall(
        f"GET /api/sessions/{session}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
        f"Last-Event-ID: {cursor}\r\n\r\n".encode()
    )
    return slow


def test_a_reader_that_stops_reading_costs_nothing_and_is_told_to_reload(tmp_path: Path) -> None:
    """A slow reader holds neither the session nor the server up, and makes neither of them keep more."""
    program = Program(tmp_path)
    state = tmp_path / "state" / "agentcli"
    with Serving(program) as server:
        server.log_in()
        producer = Producer(tmp_path / "work", state)
        session = producer.start()
        cursor = server.get(f"/api/sessions/{session}").json["cursor"]
        slow = slow_reader(server, session, cursor)
        time.sleep(1)
        before = resident(server.process.pid)
        producer.go()
        assert numbers(server.events(session, cursor)) == list(range(RATE * SECONDS))
        assert resident(server.process.pid) - before < 20_000
        slow.settimeout(5)
        read, ends = b"", time.monotonic() + 60
        while b'"reload"' not in read[-1_000_000:]:
            assert time.monotonic() < ends, read[-300:]
            read += slow.recv(1_000_000)
        events = [
            json.loads(line[6:]) for line in read.split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")
        ]
        seen = [int(event["message"]) for event in events if event["type"] == "warning"]
        assert seen == list(range(len(seen)))
        slow.close()
        producer.join()


def test_a_reader_continues_after_its_connection_and_the_server_were_killed(tmp_path: Path) -> None:
    program, seconds = Program(tmp_path), 8
    state = tmp_path / "state" / "agentcli"
    first = Serving(program)
    with first:
        first.log_in()
        producer = Producer(tmp_path / "work", state, seconds)
        session = producer.start()
        cursor = first.get(f"/api/sessions/{session}").json["cursor"]
        producer.go()
        found: list[int] = []

        def read(server: Serving, most: int) -> None:
            nonlocal cursor
            for given, event in server.events(session, cursor):
                cursor = given
                if event["type"] == "warning":
                    found.append(int(event["message"]))
                if len(found) >= most or len(found) == RATE * seconds:
                    return

        for most in (500, 1000, 2000):
            read(first, most)
        first.kill()
        with Serving(program, port=first.port) as second:
            second.token = first.token  # the page stays logged in
            while len(found) < RATE * seconds:
                read(second, len(found) + 1500)
    producer.join()
    assert found == list(range(RATE * seconds))

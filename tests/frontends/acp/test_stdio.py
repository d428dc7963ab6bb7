"""The protocol on pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentcli.frontends.acp.stdio import GARBAGE_SECONDS, LINE_BYTES, StdioTransport, Unreadable, lines, parsed
from tests.frontends.acp.editor import Json, in_loop, script, validate
from tests.tables import each_row


def piped(data: bytes) -> int:
    """A descriptor that gives these bytes and ends."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def test_lines_come_one_by_one_and_blank_ones_are_left_out() -> None:
    assert list(lines(piped(b"a\n\n  \nb\r\nc"))) == [b"a", b"b\r", b"c"]


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read() -> None:
    assert list(lines(piped(b"123456789\nok\n1234567890"), most=8)) == [None, b"ok", None]


@each_row(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b"[1]", -32600),
        (b'{"x": 1}', -32600),
        (b'{"method": 1}', -32600),
        (b'{"id": [1], "result": {}}', -32600),
        (b'{"id": {}, "method": "initialize"}', -32600),
        (b"\xff", -32700),
        (None, -32600),
    ],
)
def test_what_is_no_message_has_an_error_of_its_own(line: bytes | None, code: int) -> None:
    message = parsed(line)
    assert isinstance(message, Unreadable)
    assert message.code == code


@each_row("error", ["no", None, [1], {"code": "x"}, {"code": 1, "message": 2}])
def test_an_error_of_another_form_is_an_error_all_the_same(error: Any) -> None:
    message = parsed(json.dumps({"id": 1, "error": error}).encode())
    assert isinstance(message, dict)
    assert isinstance(message["error"]["code"], int)
    assert isinstance(message["error"]["message"], str)


@in_loop
async def test_garbage_is_answered_and_forgiven_if_a_message_follows() -> None:
    reading, writing = os.pipe()
    transport = StdioTransport(piped(b'rubbish\n{"jsonrpc":"2.0","id":1,"method":"x"}\n'), writing)
    assert await transport.receive() == {"jsonrpc": "2.0", "id": 1, "method": "x"}
    assert json.loads(os.read(reading, 1000))["error"]["code"] == -32700
    assert await transport.receive() is None
    assert transport.ending == "closed"


@in_loop
async def test_nothing_but_garbage_ends_the_connection() -> None:
    (source, keeps_open), (_, sink) = os.pipe(), os.pipe()
    os.write(keeps_open, b"rubbish\n")
    transport = StdioTransport(source, sink, patience=0.0)
    assert await transport.receive() is None
    assert transport.ending == "garbage"


@in_loop
async def test_an_unreadable_line_is_only_answered_once_a_client_has_spoken() -> None:
    reading, sink = os.pipe()
    lines = b'{"id":1,"method":"x"}\n{"jsonrpc"\n[{}]\n{"id":2,"method":"x"}\nrubbish'
    transport = StdioTransport(piped(lines), sink, patience=0.0)
    assert [await transport.receive() for _ in range(3)] == [{"id": 1, "method": "x"}, {"id": 2, "method": "x"}, None]
    assert transport.ending == "closed"
    answers = [json.loads(line) for line in os.read(reading, 1000).splitlines()]
    assert [answer["error"]["code"] for answer in answers] == [-32700, -32600, -32700]


@in_loop
async def test_a_client_that_no_longer_reads_is_gone() -> None:
    (source, _), (reading, sink) = os.pipe(), os.pipe()
    os.close(reading)
    transport = StdioTransport(source, sink)
    with pytest.raises(ConnectionError):
        await transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert await transport.receive() is None


class Agent:
    """The program as a client starts it."""

    def __init__(self, process: subprocess.Popen[bytes], work: Path) -> None:
        self.process, self.work = process, work
        self.asked: dict[int, str] = {}

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        number = len(self.asked) + 1
        self.asked[number] = method
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def write(self, line: str) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: Any) -> Json:
        """The first message that is wanted; all before are valid."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message: Json = json.loads(line)
            validate(message, self.asked)
            if wanted(message):
                return message
        raise AssertionError("the agent has ended")

    def answer(self, number: int) -> Json:
        """The answer to a request."""
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def working(self) -> str:
        """A session whose turn is at work in a command; its id."""
        self.answer(self.ask("initialize", protocolVersion=1))
        session = str(self.answer(self.ask("session/new", cwd=str(self.work), mcpServers=[]))["result"]["sessionId"])
        self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        self.until(
            lambda message: "began" in json.dumps(message.get("params", {}).get("update", {}).get("content", ""))
        )
        return session


@contextmanager
def started(base: Path, *replies: Json) -> Iterator[Agent]:
    work = base / "work"
    work.mkdir(exist_ok=True)
    env = {f"XDG_{kind}_HOME": str(base / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    env |= {"HOME": str(base), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "agentcli", "acp", "--mode", "yolo", "-m", script(base, *replies)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=base
    ) as process:
        try:
            yield Agent(process, work)
        finally:
            process.kill()


SLEEP: Json = {"calls": [{"name": "bash", "input": {"command": "echo began; sleep 600"}}]}


def close(agent: Agent) -> None:
    assert agent.process.stdin is not None
    agent.process.stdin.close()


ENDINGS = {
    "closed": (close, 0),
    "ctrl-c": (lambda agent: agent.process.send_signal(signal.SIGINT), 130),
    "terminated": (lambda agent: agent.process.send_signal(signal.SIGTERM), 143),
    "deaf": (lambda agent: (agent.process.stdout.close(), agent.ask("session/list")), 0),  # type: ignore[union-attr]
}


def test_the_command_answers_and_ends_with_its_input(tmp_path: Path) -> None:
    with started(tmp_path, {"text": "ok"}) as agent:
        assert agent.answer(agent.ask("initialize", protocolVersion=1))["result"]["protocolVersion"] == 1
        assert agent.answer(agent.ask("session/delete", sessionId="x"))["error"]["code"] == -32601
        close(agent)
        assert agent.process.wait(60) == 0


@pytest.mark.full
def test_input_that_is_only_garbage_is_bad_input_also_where_it_ends_at_once(tmp_path: Path) -> None:
    with started(tmp_path) as agent:
        agent.write("rubbish")
        close(agent)
        assert agent.process.wait(60) == 42
        assert agent.process.stderr is not None
        assert b"the input on stdin is not the Agent Client Protocol" in agent.process.stderr.read()


@pytest.mark.full
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"jsonrpc":"2.0","id":', -32700),
        ('[{"jsonrpc":"2.0","id":7,"method":"session/list"}]', -32600),
        ('{"jsonrpc":"2.0","id":{},"method":"session/list"}', -32600),
        (json.dumps({"jsonrpc": "2.0", "id": 7, "method": "session/list", "params": "x" * LINE_BYTES}), -32600),
    ],
    ids=["broken", "batch", "id", "large"],
)
def test_an_unreadable_line_leaves_a_turn_at_work(line: str, code: int, tmp_path: Path) -> None:
    with started(tmp_path, SLEEP, {"text": "Stopped."}) as agent:
        session = agent.working()
        agent.write(line)
        assert agent.until(lambda message: message.get("error", {}).get("code") == code)["id"] is None
        time.sleep(2 * GARBAGE_SECONDS)  # for so long the connection once lived
        agent.notify("session/cancel", sessionId=session)
        assert agent.answer(3)["result"]["stopReason"] == "cancelled"


@pytest.mark.slow
@each_row("ending", ENDINGS)
def test_a_client_that_goes_in_the_middle_of_a_turn_leaves_a_session_that_can_be_resumed(
    ending: str, tmp_path: Path
) -> None:
    end, code = ENDINGS[ending]
    with started(tmp_path, SLEEP, {"text": "Here again."}) as agent:
        session = agent.working()
        end(agent)
        assert agent.process.stderr is not None
        assert (agent.process.wait(60), agent.process.stderr.read().decode()) == (code, "")
    with started(tmp_path, {"text": "Here again."}) as agent:
        agent.answer(agent.ask("initialize", protocolVersion=1))
        agent.answer(agent.ask("session/resume", sessionId=session, cwd=str(agent.work), mcpServers=[]))
        asked = agent.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go on"}])
        assert agent.answer(asked)["result"]["stopReason"] == "end_turn"

"""Servers of a test: fake ones, run by the real client in its thread."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

from agentcli.core.mcp_servers import ServerAnswer, ServerState
from agentcli.features.mcp.config import definition
from agentcli.features.mcp.servers import McpServers, Surroundings

T = TypeVar("T")
FAKE = Path(__file__).with_name("fake_server.py")


def fake(*faults: str, **more: Any) -> dict[str, Any]:
    """The definition of a fake server, as JSON."""
    return {"command": sys.executable, "args": ["-I", "-S", str(FAKE), *faults], **more}


@contextmanager
def servers(folder: Path, given: Mapping[str, Mapping[str, Any]], **more: Any) -> Iterator[McpServers]:
    """The servers with these definitions; they have ended afterwards."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "SECRET_KEY": "s3cret"}
    made = McpServers(Surroundings(env, folder, **{"roots": lambda: [folder], "logs": folder / "logs", **more}))
    made.define([each for name, one in given.items() for each in definition(name, one, "test").servers.values()])
    try:
        yield made
    finally:
        made.close()


def wait(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def settled(made: McpServers) -> Sequence[ServerState]:
    """The states once no server is being connected."""
    wait(made.settle(None))
    return made.states()


def call(made: McpServers, name: str, **given: Any) -> ServerAnswer:
    """The answer to a call of `mcp__…`."""
    tool = next(tool for tool in made.tools() if tool.name == name)
    return wait(made.call(tool, given, lambda _: None))


def text(answer: ServerAnswer) -> str:
    return "\n".join(content.text for content in answer.contents)


def pids(folder: Path) -> list[int]:
    """The processes that were started in this folder."""
    lines = (folder / "fake.log").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("start ")]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition; the test's own time limit is the only one."""
    while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def refusing(status: int) -> Iterator[str]:
    """The address of a server that answers everything with this status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_DELETE = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

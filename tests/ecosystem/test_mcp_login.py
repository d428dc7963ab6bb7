"""A login to a server with OAuth that was not written here: the example of the Python SDK, with its authorization server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ecosystem.software import python_package, repository

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(600)]
SDK, EXAMPLE = "modelcontextprotocol/python-sdk", "examples/servers/simple-auth"
BROWSER = f'''#!{sys.executable}
"""A person at a browser: fills in the form of the page, and goes where it leads."""
import re, sys
from urllib.parse import urlencode
from urllib.request import urlopen

page = urlopen(sys.argv[1]).read().decode()
form = {{"state": re.search(r'name="state" value="([^"]*)"', page)[1], "username": "demo_user", "password": "demo_password"}}
urlopen(re.search(r'action="([^"]+)"', page)[1], urlencode(form).encode()).read()
'''


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of the example."""
    checkout = repository(SDK, tmp_path_factory.mktemp("sdk"))
    return python_package(str(checkout / EXAMPLE), folder=tmp_path_factory.mktemp("example"))


@contextmanager
def running(program: Path, *arguments: str) -> Iterator[str]:
    """The address of a server on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    null = subprocess.DEVNULL
    server = subprocess.Popen([program, f"--port={port}", *arguments], stdout=null, stderr=null)
    try:
        while server.poll() is None:
            try:
                socket.create_connection(("localhost", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**os.environ, **folders, "HOME": str(tmp_path), "BROWSER": str(browser)}


@pytest.mark.parametrize("program", ["mcp-simple-auth-rs", "mcp-simple-auth-legacy"])
def test_one_login_serves_all_later_runs_until_it_is_forgotten(
    tmp_path: Path, example: Path, environment: dict[str, str], program: str
) -> None:
    def agentcli(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "agentcli", *arguments],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    script = tmp_path / "script.json"
    call = {"calls": [{"name": "mcp_call", "input": {"tool": "mcp__auth__get_time"}}]}
    script.write_text(json.dumps({"replies": [call, {"text": "ok"}]}))
    run = ["-m", f"script:{script}", "--allow", "mcp__auth", "-p", "go", "-o", "stream-json"]
    with ExitStack() as servers:
        given = []
        if program.endswith("-rs"):
            authority = servers.enter_context(running(example / "mcp-simple-auth-as"))
            given = [f"--auth-server={authority}", "--oauth-strict"]
        url = servers.enter_context(running(example / program, *given))
        agentcli("mcp", "add", "auth", f"{url}/mcp")
        assert "needs login" in agentcli("mcp", "test", "auth")
        assert "Server auth needs a login: run `/mcp login auth`" in agentcli(*run)
        assert "Logged in to auth." in agentcli("mcp", "login", "auth")
        kept = tmp_path / "STATE/agentcli/mcp-tokens.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        environment["BROWSER"] = "/nonexistent"
        for _ in range(2):
            assert "auth: connected" in agentcli("mcp", "test", "auth")
            assert "current_time" in agentcli(*run)
        assert "Forgot the login" in agentcli("mcp", "logout", "auth")
        assert "needs login" in agentcli("mcp", "test", "auth")

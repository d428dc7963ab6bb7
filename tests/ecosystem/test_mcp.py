"""Servers that were not written here: the reference servers from PyPI and npm, over each transport."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ecosystem.software import npm_packages, python_package

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(600)]
SERVERS = ("everything", "filesystem", "memory")


@pytest.fixture(scope="module")
def python_servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs with mcp-server-git and mcp-server-time."""
    return python_package("mcp-server-git", "mcp-server-time", folder=tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def node_servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs with the reference servers of npm."""
    return npm_packages(tmp_path_factory.mktemp("node"), *(f"@modelcontextprotocol/server-{name}" for name in SERVERS))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


def gate(tool: str, **arguments: Any) -> Mapping[str, Any]:
    return {"calls": [{"name": "mcp_call", "input": {"tool": tool, "arguments": arguments}}]}


def command(
    project: Path, servers: Mapping[str, Any], *replies: Any, flags: tuple[str, ...] = ("--trust",)
) -> list[str]:
    """The command line of a run with these servers and a model that says this."""
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    script = project.parent / "script.json"
    script.write_text(json.dumps({"replies": [*replies, {"text": "ok"}]}))
    common = ["-C", str(project), "-m", f"script:{script}", "--allow", "mcp__*", "-p", "go", "-o", "stream-json"]
    return [sys.executable, "-m", "agentcli", *common, *flags]


def environment(project: Path, *path: Path) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(project.parent / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**os.environ, **folders, "PATH": ":".join([*map(str, path), os.environ["PATH"]])}


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def ran(project: Path, servers: Mapping[str, Any], *replies: Any, path: Path, **more: Any) -> list[dict[str, Any]]:
    line = command(project, servers, *replies, **more)
    done = subprocess.run(line, env=environment(project, path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return events(done.stdout)


def outputs(found: list[dict[str, Any]]) -> dict[str, str]:
    return {event["name"]: event["output"] for event in found if event["type"] == "tool_result"}


def pictures(project: Path) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The pictures of each result in the stored session, by the server's own name of the tool."""
    for record in sorted((project.parent / "DATA/agentcli/sessions").glob("*/*/records/*-tool_result.json")):
        stored = json.loads(record.read_text())
        yield stored["metadata"].get("tool", "").rpartition("__")[2], stored.get("images", [])


@contextmanager
def listening(program: Path, transport: str) -> Iterator[int]:
    """A reference server on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    null = subprocess.DEVNULL
    server = subprocess.Popen([program, transport], env={**os.environ, "PORT": str(port)}, stdout=null, stderr=null)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def test_a_python_server_is_found_and_called_through_the_gate(project: Path, python_servers: Path) -> None:
    search = {"calls": [{"name": "mcp_search", "input": {"query": "git status"}}]}
    servers = {"git": {"command": "mcp-server-git"}, "time": {"command": "mcp-server-time"}}
    found = ran(project, servers, search, gate("mcp__git__git_status", repo_path="."), path=python_servers)
    assert [server["status"] for server in found[0]["mcp_servers"]] == ["connected", "connected"]
    assert outputs(found)["mcp_search"].startswith("mcp__git__git_status: ")
    assert "On branch main" in outputs(found)["mcp__git__git_status"]


def test_without_trust_no_process_of_a_server_exists(project: Path, python_servers: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nexec {python_servers}/mcp-server-git\n")
    wrapper.chmod(0o755)
    servers = {"git": {"command": str(wrapper)}, "other": {"command": str(wrapper)}}
    found = ran(project, servers, gate("mcp__git__git_status", repo_path="."), path=python_servers, flags=())
    assert not (tmp_path / "started").exists()
    (warning,) = [event["message"] for event in found if event["type"] == "warning" and "--trust" in event["message"]]
    assert "git, other" in warning


def test_the_reference_servers_of_npm_work_over_every_transport(project: Path, node_servers: Path) -> None:
    every = node_servers / "mcp-server-everything"
    with listening(every, "streamableHttp") as http, listening(every, "sse") as sse:
        servers = {
            "every": {"type": "stdio", "command": str(every), "args": ["stdio"]},
            "http": {"type": "http", "url": f"http://127.0.0.1:{http}/mcp"},
            "sse": {"type": "sse", "url": f"http://127.0.0.1:{sse}/sse"},
            "guessed": {"url": f"http://127.0.0.1:{sse}/sse"},
            "fs": {"command": str(node_servers / "mcp-server-filesystem"), "args": ["."]},
            "memory": {"command": str(node_servers / "mcp-server-memory")},
        }
        replies = (
            gate("mcp__every__get-roots-list"),
            gate("mcp__every__trigger-elicitation-request"),
            gate("mcp__http__get-tiny-image"),
            gate("mcp__sse__echo", message="hello"),
            gate("mcp__guessed__echo", message="hello"),
            gate("mcp__fs__list_directory", path="."),
        )
        found = ran(project, servers, *replies, path=node_servers)
    assert {server["status"] for server in found[0]["mcp_servers"]} == {"connected"}
    said = outputs(found)
    assert project.as_uri() in said["mcp__every__get-roots-list"]
    assert "declined" in said["mcp__every__trigger-elicitation-request"]
    (images,) = [images for name, images in pictures(project) if name == "get-tiny-image"]
    assert [image["mime"] for image in images] == ["image/png"]
    assert said["mcp__sse__echo"] == said["mcp__guessed__echo"] == "Echo: hello"
    assert ".mcp.json" in said["mcp__fs__list_directory"]


def test_a_long_operation_is_cancelled_by_an_interrupt_and_no_process_is_left(
    project: Path, node_servers: Path
) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("a shell has started this in the background, where interrupts are ignored")
    servers = {"every": {"command": str(node_servers / "mcp-server-everything"), "args": ["stdio"]}}
    line = command(project, servers, gate("mcp__every__trigger-long-running-operation", duration=100, steps=100))
    run = subprocess.Popen(line, env=environment(project), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for text in run.stdout:
        if json.loads(text)["type"] == "permission":
            break
    run.send_signal(signal.SIGINT)
    rest, errors = run.communicate(timeout=60)
    assert "Traceback" not in errors
    (result,) = [event for event in events(rest) if event["type"] == "tool_result"]
    assert result["status"] == "interrupted"
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(node_servers) not in left

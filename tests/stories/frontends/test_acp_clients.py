"""Clients that were not written here: acpx, and the example clients of the protocol's SDKs for Python and TypeScript."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agentcli.sessions.store import Store
from tests.features.mcp import fake_server
from tests.frontends.acp.editor import Json, script

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(600)]
SDK = "agent-client-protocol==0.12.1"
"""The package whose source archive has the example."""
DENIED = 5
"""The exit code of acpx after a turn in which it allowed nothing."""
READ: Json = {"text": "Let me look.", "calls": [{"name": "read", "input": {"file_path": "a.py"}}]}
EDIT: Json = {"calls": [{"name": "edit", "input": {"file_path": "a.py", "old_string": "hi", "new_string": "ho"}}]}
RUN: Json = {"calls": [{"name": "bash", "input": {"command": "echo done > out.txt; cat out.txt"}}]}
SLEEP: Json = {"calls": [{"name": "bash", "input": {"command": "echo began; sleep 600"}}]}
WORK = (READ, EDIT, RUN, {"text": "All done."})


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Node and acpx."""
    folder = tmp_path_factory.mktemp("node")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    installed = subprocess.run(
        [npm, "install", "--silent", "node@22", "acpx@0.19.1"], cwd=folder, capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"npm has no acpx for us: {installed.stderr[-300:]}")
    return folder / "node_modules"


class Acpx:
    """acpx in a project folder, with a scripted agent."""

    def __init__(self, node: Path, base: Path, *replies: Json) -> None:
        self.work = base / "work"
        self.work.mkdir()
        (self.work / "a.py").write_text("print('hi')\n")
        subprocess.run(["git", "init", "-q"], cwd=self.work, check=True)
        self.env = environment(base) | {"PATH": f"{node / 'node' / 'bin'}:{node / '.bin'}:{os.environ['PATH']}"}
        self.agent = f"{sys.executable} -m agentcli acp -m {script(base, *replies)}"

    def run(self, *arguments: str) -> str:
        """Run acpx to its end; its output."""
        done = subprocess.run(
            self.command(*arguments), env=self.env, cwd=self.work, capture_output=True, text=True, timeout=120
        )
        assert done.returncode in (0, DENIED), done.stdout + done.stderr
        return done.stdout

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run."""
        return ["acpx", "--agent", self.agent, "--cwd", str(self.work), *arguments]

    @contextmanager
    def working(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A run in a process group of its own, as soon as its command is at work."""
        command = self.command("--approve-all", "--format", "json", *arguments)
        with subprocess.Popen(
            command, env=self.env, cwd=self.work, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stdout is not None
            assert any("tool_call_update" in line and "began" in line for line in process.stdout)
            yield process

    def messages(self, *arguments: str) -> list[Json]:
        """The JSON-RPC messages of a run."""
        return [json.loads(line) for line in self.run("--format", "json", *arguments).splitlines() if line.strip()]

    @property
    def text(self) -> str:
        """The text of the file that the agent is to edit."""
        return (self.work / "a.py").read_text()


def environment(base: Path) -> dict[str, str]:
    """Folders of their own for the program."""
    folders = {f"XDG_{kind}_HOME": str(base / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**folders, "HOME": str(base), "PATH": os.environ["PATH"]}


def test_acpx_approves_all_and_the_turn_ends(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, *WORK)
    messages = acpx.messages("--approve-all", "exec", "go")
    assert messages[-1]["result"]["stopReason"] == "end_turn"
    assert any(each.get("method") == "fs/read_text_file" for each in messages)
    assert acpx.text == "print('ho')\n"
    assert (acpx.work / "out.txt").read_text() == "done\n"


def test_acpx_denies_all_and_the_turn_goes_on(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, *WORK)
    messages = acpx.messages("--deny-all", "exec", "go")
    outcomes = [each["result"]["outcome"] for each in messages if "outcome" in (each.get("result") or {})]
    assert outcomes == [{"outcome": "selected", "optionId": "no"}] * 2
    assert messages[-1]["result"]["stopReason"] == "end_turn"
    assert acpx.text == "print('hi')\n"


def test_acpx_leads_a_named_session(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, *WORK)
    acpx.run("sessions", "new", "--name", "t")
    assert "All done." in acpx.run("--approve-all", "prompt", "-s", "t", "go")
    assert "plan" in acpx.run("set-mode", "-s", "t", "plan")
    acpx.run("cancel", "-s", "t")
    acpx.run("sessions", "close", "t")
    assert acpx.text == "print('ho')\n"


def test_acpx_cancels_a_turn_that_runs(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, SLEEP, {"text": "Here again."})
    acpx.run("sessions", "new", "--name", "t")
    with acpx.working("prompt", "-s", "t", "go") as process:
        acpx.run("cancel", "-s", "t")
        output, _ = process.communicate(timeout=120)
    assert json.loads(output.splitlines()[-1])["result"]["stopReason"] == "cancelled"
    assert "Here again." in acpx.run("prompt", "-s", "t", "go on")
    acpx.run("sessions", "close", "t")


def test_ctrl_c_in_acpx_ends_the_agent_and_leaves_a_session_that_can_be_resumed(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, SLEEP)
    with acpx.working("exec", "go") as process:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
    store = Store(tmp_path / "DATA" / "agentcli" / "sessions")
    [info] = store.list()
    with closing(store.open(info.project_id, info.id)) as session:  # no other process has it open
        assert session.history.turn == 1


def test_acpx_without_its_files_leaves_them_to_the_agent(node: Path, tmp_path: Path) -> None:
    acpx = Acpx(node, tmp_path, *WORK)
    messages = acpx.messages("--no-fs", "--approve-all", "exec", "go")
    assert not any("fs/" in str(each.get("method")) for each in messages)
    assert acpx.text == "print('ho')\n"


def test_acpx_brings_servers_of_its_own(node: Path, tmp_path: Path) -> None:
    call: Json = {"name": "mcp_call", "input": {"tool": "mcp__fake__echo", "arguments": {"text": "heard"}}}
    acpx = Acpx(node, tmp_path, {"calls": [call]}, {"text": "ok"})
    server = {"type": "stdio", "name": "fake", "command": sys.executable, "args": [fake_server.__file__], "env": []}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": [server]}))
    messages = acpx.messages("--mcp-config", str(config), "--approve-all", "exec", "go")
    assert messages[-1]["result"]["stopReason"] == "end_turn"
    assert (acpx.work / "fake.log").read_text().count("call echo") == 1


def test_the_sdks_example_client_refuses_every_permission_and_gets_an_answer(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('hi')\n")
    command = [
        sys.executable,
        str(example(tmp_path)),
        sys.executable,
        "-m",
        "agentcli",
        "acp",
        "-m",
        script(tmp_path, *WORK),
    ]
    done = subprocess.run(
        command, input="go\n", env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "| Agent: Let me look." in done.stdout
    assert "| Agent: All done." in done.stdout
    assert (tmp_path / "a.py").read_text() == "print('hi')\n"


def test_a_client_whose_files_are_made_up_gets_an_answer_and_the_files_stay(node: Path, tmp_path: Path) -> None:
    """The example client of the SDK for TypeScript gives the same text for every file, and saves none."""
    change: Json = {"name": "edit", "input": {"file_path": "a.py", "old_string": "Mock", "new_string": "Real"}}
    acpx = Acpx(node, tmp_path, READ, {"calls": [change]}, {"text": "All done."})
    npx = tmp_path / "bin" / "npx"  # by which it starts its agent
    npx.parent.mkdir()
    npx.write_text(f"#!/bin/sh\nexec {acpx.agent}\n")
    npx.chmod(0o755)
    done = subprocess.run(
        ["node", str(node / "@agentclientprotocol" / "sdk" / "dist" / "examples" / "client.js")],
        env=acpx.env | {"PATH": f"{npx.parent}:{acpx.env['PATH']}"},
        cwd=acpx.work,
        input="1\n" * 5,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Agent completed with: end_turn" in done.stdout
    assert "All done." in done.stdout
    assert acpx.text == "print('hi')\n"


def example(folder: Path) -> Path:
    """The example client of the SDK, from its source archive."""
    pip = [getattr(sys, "_base_executable", sys.executable), "-m", "pip"]
    got = subprocess.run(
        [*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder / "sdk"), SDK],
        capture_output=True,
        text=True,
    )
    if got.returncode:
        pytest.skip(f"PyPI has no {SDK} for us: {got.stderr[-300:]}")
    [archive] = (folder / "sdk").glob("*.tar.gz")
    shutil.unpack_archive(archive, folder / "sdk", filter="data")
    [client] = (folder / "sdk").glob("*/examples/client.py")
    return client

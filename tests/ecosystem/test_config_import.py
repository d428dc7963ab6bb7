"""Servers that the programs of other vendors have written themselves are taken over as they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import Program

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(600)]
PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the installed programs; `VENDOR_PROGRAMS` names one that is there already."""
    if given := os.environ.get("VENDOR_PROGRAMS"):
        return Path(given)
    folder = tmp_path_factory.mktemp("npm")
    try:
        done = subprocess.run(["npm", "i", *PACKAGES], cwd=folder, capture_output=True, check=False, timeout=110)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm does not work here: {error}")
    if done.returncode:
        pytest.skip("the packages cannot be installed from npm")
    return folder / "node_modules/.bin"


def test_servers_keep_their_command_url_headers_and_environment(program: Program, programs: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=program.work, check=True)
    for command in (
        [
            "claude",
            "mcp",
            "add",
            "--scope",
            "user",
            "--transport",
            "http",
            "s1",
            "https://x.example/mcp",
            "--header",
            "A: b",
        ],
        ["claude", "mcp", "add", "l1", "--", "foo"],
        ["codex", "mcp", "add", "t1", "--env", "A=b", "--", "npx", "-y", "foo"],
        ["codex", "mcp", "add", "t2", "--url", "https://x.example/mcp", "--bearer-token-env-var", "TOK"],
        ["gemini", "mcp", "add", "--scope", "user", "g", "npx", "-y", "foo"],
    ):
        called = [str(programs / command[0]), *command[1:]]
        subprocess.run(called, cwd=program.work, env=program.env, check=True, capture_output=True, timeout=60)
    assert program.run("import-config", "--yes").code == 0
    file = program.base / "config/agentcli/mcp.json"
    found = json.loads(file.read_text())["mcpServers"]
    assert (found["s1"]["url"], found["s1"]["headers"]) == ("https://x.example/mcp", {"A": "b"})
    assert found["l1"]["command"] == "foo"
    assert (found["t1"]["command"], found["t1"]["args"], found["t1"]["env"]) == ("npx", ["-y", "foo"], {"A": "b"})
    assert (found["t2"]["url"], found["t2"]["headers"]) == ("https://x.example/mcp", {"Authorization": "Bearer ${TOK}"})
    assert (found["g"]["command"], found["g"]["args"]) == ("npx", ["-y", "foo"])
    before = file.read_bytes()
    assert "To write" not in program.run("import-config", "--yes").out
    assert file.read_bytes() == before

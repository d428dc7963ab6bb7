"""The very first start beside other agents: one question about their settings, asked once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.program import Program

QUESTION = "Import settings of other agents?"
pytestmark = pytest.mark.full


@pytest.fixture
def newcomer(tmp_path: Path) -> Program:
    """The program of a person who has used Claude Code and pi."""
    claude, pi = tmp_path / ".claude", tmp_path / ".pi" / "agent"
    claude.mkdir()
    pi.mkdir(parents=True)
    (claude / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Bash(rm:*)"], "defaultMode": "plan"}}))
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"gh": {"command": "true"}}}))
    (pi / "AGENTS.md").write_text("Be brief.")
    return Program(tmp_path)


def test_yes_imports_and_the_session_goes_on_with_it_and_nothing_is_asked_again(newcomer: Program) -> None:
    with newcomer.terminal("-m", "script:echo", columns=60) as t:
        t.until(QUESTION, "Claude Code: 1 server, 1 permission rule, mode", "pi: AGENTS.md", "1. Yes, import them")
        t.send("y", until="Imported 4 entries")
        t.until("plan · echo")
        t.send("hi\r", until=" 8 out")
    assert json.loads((newcomer.base / "config/agentcli/mcp.json").read_text())["mcpServers"]["gh"]
    with newcomer.terminal("-m", "script:echo") as t:
        t.until("plan · echo")
        t.send("hi\r", until=" 8 out")
        assert QUESTION not in "\n".join(t.history())


def test_no_writes_nothing_and_is_never_asked_again(newcomer: Program) -> None:
    assert newcomer.run("-p", "hi", "-m", "script:echo").code == 0  # asks nothing
    with newcomer.terminal("-m", "script:echo") as t:
        t.until(QUESTION)
        t.send("\r", until="Nothing was imported. /import does it later.")
    assert not (newcomer.base / "config/agentcli/config.toml").exists()
    with newcomer.terminal("-m", "script:echo") as t:
        t.until("ask · echo")
        t.send("hi\r", until=" 8 out")
        assert QUESTION not in "\n".join(t.history())

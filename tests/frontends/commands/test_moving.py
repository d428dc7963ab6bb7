"""A session leaves its terminal: for the background, with its running turn, and for a worktree, with its changes."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e.program import Program
from tests.frontends.agents.test_running import left, listed, repository, script, until

pytestmark = pytest.mark.full


def test_a_turn_goes_on_in_the_background_and_then_what_waits(program: Program) -> None:
    slow = [{"text": "Slow.", "delay": 60}]
    with program.terminal("-m", script(program, slow)) as t:
        t.until("ask ·")
        t.send("long work\r", until="> long work")
        t.send("and then this\r", until="and then this")
        script(program, [{"text": "First."}, {"text": "Second."}, {"text": "Third."}])
        t.send("/bg and at last that\r", until="It works in the background.")
        assert t.wait() == 0
        assert "agentcli resume" not in "\n".join(t.history())
    row = until(program, "done")
    assert row["last"] == "Third."
    texts = [
        part["text"]
        for record in program.records(row["session"])
        for part in record.get("parts", ())
        if record.get("role") == "user" and not part.get("text", "").startswith("Today is")
    ]
    assert texts[0] == "long work"
    assert "Continue the work where it was interrupted" in texts[1]
    assert texts[2:] == ["and then this", "and at last that"]


def test_what_cannot_go_to_the_background_stays(program: Program) -> None:
    with program.terminal("-m", "script:echo") as t:
        t.until("ask ·")
        t.send("/bg\r", until="Only a stored session with a message can continue elsewhere.")
        t.send("hello\r", until="0s ·")
        t.settle()
        t.send("/bg\r", until="Nothing runs here. /bg PROMPT sends a prompt along.")
        t.send("/worktree\r", until="is not in a git repository")
        t.send("\x04")
        assert t.wait() == 0
    assert left(program) == []


def test_a_session_moves_into_a_worktree_with_the_uncommitted_changes(program: Program) -> None:
    work = repository(program)
    (work / "new.txt").write_text("new\n")
    with program.terminal("-m", "script:echo") as t:
        t.until("ask ·")
        t.send("Fix the parser\r", until="0s ·")
        t.send("/worktree\r", until="fix-the-parser starts at HEAD")
        t.settle(0.6)
        t.send("\x1b[B\r", until="It continues in")
        assert not (work / "new.txt").exists()
        t.send("where am I\r", until="0s ·")
        t.send("/worktree again\r", until="works in a worktree already")
        t.send("\x04", until="m merges into main")
        t.settle(0.6)
        t.send("m\r", until="Merged into main.")
        assert t.wait() == 0
    assert (work / "new.txt").read_text() == "new\n"
    assert subprocess.run(["git", "stash", "list"], cwd=work, capture_output=True, check=True).stdout == b""
    assert any("This session now works in" in json.dumps(record) for record in program.records())


def test_a_worktree_goes_to_the_background_with_its_session(program: Program) -> None:
    repository(program)
    asks = [{"calls": [{"name": "write", "input": {"file_path": "a.txt", "content": "a\n"}}]}, {"text": "Made."}]
    with program.terminal("-m", script(program, asks), "-w", "fix", "--mode", "auto-edit") as t:
        t.until("auto-edit ·")
        t.send("go\r", until="Made.")
        t.send("/bg and more\r", until="It works in the background.")
        assert t.wait() == 0
        assert "Enter keeps it" not in "\n".join(t.history())
    until(program, "done")
    assert [(row["worktree"], row["changes"]) for row in listed(program)] == [("fix", "1 file +1 −0")]

"""What recordings tell about branches and projects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.bench.asked import place_of, placed, project_of, workspace_in
from tests.bench.transcripts import Recorded, Transcript, transcripts


def _codex(payload: Mapping[str, object], kind: str = "response_item") -> str:
    return json.dumps({"type": kind, "payload": payload})


def test_a_command_that_switches_decides_the_branch_of_the_next_ones(tmp_path: Path) -> None:
    commands = [
        "git push",
        "git switch -c fix/a && git commit -am x",
        "cd sub && git checkout -b other",
        "git checkout main.py",
        "git push",
        "git checkout main",
        "git push",
    ]
    rows = [_codex({"id": "s", "cwd": "/home/u/p", "git": {"commit_hash": "1"}}, "session_meta")]
    for number, command in enumerate(commands):
        given = json.dumps({"cmd": command})
        rows.append(
            _codex({"type": "function_call", "call_id": str(number), "name": "exec_command", "arguments": given})
        )
    (tmp_path / "s.jsonl").write_text("\n".join(rows))

    (session,) = transcripts(tmp_path)

    branches = [each.branch for each in session.commands]
    assert branches == ["HEAD", "HEAD", "fix/a", "fix/a", "fix/a", "fix/a", "main"]


def test_worktrees_belong_to_their_repository() -> None:
    assert project_of("/home/u/p") == "/home/u/p"
    assert project_of("/home/u/.codex/worktrees/1a/p") == project_of("/home/u/.codex/worktrees/2b/p") == "/home/u/p"
    assert project_of("/home/u/p/.worktrees/fix") == project_of("/home/u/p/.claude/worktrees/fix") == "/home/u/p"
    assert project_of("/home/u/.herdr/worktrees/p/a") == project_of("/home/u/.herdr/worktrees/p/b")


def test_a_folder_of_temporary_files_has_its_name_here(tmp_path: Path) -> None:
    session = Transcript("s", "/Users/u/p")
    place = place_of(tmp_path, session)
    recorded = Recorded("ls /private/tmp/a", "m", "/private/tmp/wt")
    assert placed(recorded, place, workspace_in(place, session))[0] == "cd /tmp/wt && ls /tmp/a"

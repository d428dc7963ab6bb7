"""Session files of Codex, version 0.171: JSON lines in a folder for each day."""

from __future__ import annotations

from pathlib import Path

from agentcli.extras.exporters import claude_code, codex
from tests.extras.test_exporters import WORK, exported


def test_the_files_lie_where_the_programs_look_for_them(tmp_path: Path) -> None:
    whole = exported(*WORK)
    assert claude_code.place(whole, {}, tmp_path) == tmp_path / f".claude/projects/-home-dev-my-shop-d/{whole.id}.jsonl"
    name = f"rollout-2026-11-27T10-11-12-{whole.id}.jsonl"
    assert codex.place(whole, {}, tmp_path) == tmp_path / ".codex/sessions/2026/11/27" / name
    assert claude_code.place(whole, {"CLAUDE_CONFIG_DIR": "/c"}, tmp_path).is_relative_to("/c/projects")
    assert codex.place(whole, {"CODEX_HOME": "/x"}, tmp_path).is_relative_to("/x/sessions")

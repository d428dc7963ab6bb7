"""The note for a person who comes from Claude Code, at the first start only."""

from __future__ import annotations

from pathlib import Path

from agentcli.program.program import newcomer


def test_import_config_is_named_at_the_first_start_if_there_is_something_to_import(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    assert newcomer(tmp_path, sessions) == []
    (tmp_path / ".claude").mkdir()
    [note] = newcomer(tmp_path, sessions)
    assert "~/.claude" in note
    assert "/import takes over its settings" in note
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    assert "~/.claude, ~/.pi/agent: /import takes over their settings" in newcomer(tmp_path, sessions)[0]
    (tmp_path / ".pi" / "agent").rmdir()
    records = sessions / "project" / "session" / "records"
    records.mkdir(parents=True)
    assert newcomer(tmp_path, sessions) == [note]
    (records / "000001-message.json").write_text("{}")
    assert newcomer(tmp_path, sessions) == []

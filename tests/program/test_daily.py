"""Warnings once a day."""

from __future__ import annotations

from pathlib import Path

from agentcli.program.daily import first_today


def test_a_warning_is_new_once_a_day(tmp_path: Path) -> None:
    file = tmp_path / "state" / "told.json"
    asked = [("a", "2026-11-26"), ("a", "2026-11-26"), ("b", "2026-11-26"), ("a", "2026-11-26"), ("a", "2026-11-27")]
    assert [first_today(file, *each) for each in asked] == [True, False, True, False, True]


def test_a_warning_is_shown_if_the_file_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "told.json").write_text("[")
    assert first_today(tmp_path / "told.json", "a", "2026-11-26")
    (tmp_path / "file").write_text("")
    assert first_today(tmp_path / "file" / "told.json", "a", "2026-11-26")

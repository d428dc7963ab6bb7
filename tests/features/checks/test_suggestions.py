"""Checks that a project's own files suggest: a person decides, nothing is switched on."""

from __future__ import annotations

from pathlib import Path

from agentcli.features.checks.suggestions import suggestions
from tests.features.checks.test_configured import installed


def test_a_program_that_is_not_installed_or_not_configured_is_not_suggested(tmp_path: Path) -> None:
    (project := tmp_path / "project").mkdir()
    (project / "go.mod").write_text("module m\n")
    assert not suggestions(project, path=str(tmp_path / "none"))
    installed(tmp_path / "bin/ruff")
    (project / "pyproject.toml").write_text("[project]\nname = 'ruff'\n")
    assert not suggestions(project, path=str(tmp_path / "bin"))

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.program.files import project_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


def test_files_are_found_from_the_root_down_and_not_above_it(project: Path) -> None:
    for place in (project.parent, project, project / "src"):
        (place / ".mcp.json").write_text("{}")
    found = project_files(project / "src", [".mcp.json", "other.json"])
    assert found.paths == (project / ".mcp.json", project / "src/.mcp.json")
    assert found.notes == ()


def test_a_link_that_leads_out_is_passed_over_and_named(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/settings.json").write_text("{}")
    (project / ".mcp.json").symlink_to("../secret.json")
    (project / ".claude").symlink_to(tmp_path / "elsewhere")
    (project / "src/inner.json").write_text("{}")
    (project / "inner.json").symlink_to("src/inner.json")
    found = project_files(project, [".mcp.json", ".claude/settings.json", "inner.json"])
    assert found.paths == (project / "inner.json",)
    assert found.notes == (
        ".mcp.json leads out of the repository: left out.",
        ".claude/settings.json leads out of the repository: left out.",
    )


def test_a_link_in_a_circle_is_passed_over(project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    found = project_files(project, ["a"])
    assert (found.paths, len(found.notes)) == ((), 1)

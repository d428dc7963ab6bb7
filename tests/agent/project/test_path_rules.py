"""Rules of Claude Code that are for all paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.project.path_rules import standing_rules


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude" / "rules"
    (folder / "web").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    return folder


def test_they_count_in_order_with_their_imports_and_those_for_certain_paths_do_not(rules: Path) -> None:
    (rules / "b.md").write_text("---\ntitle: x\n---\nsee @web/c.txt")
    (rules / "a.md").write_text('---\npaths: "src/**"\n---\nonly src')
    (rules / "web" / "c.txt").write_text("imported")
    (rules / "web" / "d.md").write_text("deep")
    found = standing_rules(rules.parent.parent, rules, 100)
    assert [file.text for file in found.files] == ["see @web/c.txt", "imported", "deep"]
    assert found.notes == ()


def test_links_that_lead_out_and_files_that_are_none_are_named(rules: Path) -> None:
    (rules / "out.md").symlink_to("/etc/hosts")
    (rules / "self.md").symlink_to("self.md")
    (rules / "binary.md").write_bytes(b"\0")
    (rules / "top").symlink_to("/")
    (rules / "again").symlink_to(rules)
    (rules / "long.md").write_text("x" * 50)
    found = standing_rules(rules.parent.parent, rules, 10)
    assert [(file.text, file.cut) for file in found.files] == [("x" * 10, True)]
    text = "\n".join(found.notes)
    assert all(name in text for name in ("out.md", "self.md", "binary.md", "top", "long.md is longer than 10 bytes"))

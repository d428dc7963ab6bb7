"""Which instruction files count, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.project.instructions import instruction_set, instructions, standing_rules
from tests.tables import each_row


def test_from_the_users_own_down_to_the_current_folder_one_a_folder(tmp_path: Path) -> None:
    config, repo = tmp_path / "config", tmp_path / "repo"
    inner = repo / "a" / "b"
    inner.mkdir(parents=True)
    config.mkdir()
    (repo / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("above the repository")
    (config / "AGENTS.md").write_text("mine")
    (repo / "AGENTS.md").write_text("repo")
    (repo / "CLAUDE.md").write_text("not this one")
    (repo / "a" / "CLAUDE.md").write_text("inner claude")
    (inner / "GEMINI.md").write_text("innermost")
    assert [found.text for found in instructions(inner, config)] == ["mine", "repo", "inner claude", "innermost"]


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("above")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "AGENTS.md").write_text("here")
    assert [found.text for found in instructions(inner, tmp_path / "none")] == ["here"]


def test_a_long_file_is_cut_between_characters_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("ä" * 100)
    [found] = instructions(tmp_path, tmp_path / "none", limit=31)
    assert found.cut
    assert found.text == "ä" * 15


@each_row("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_read_as_text(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "AGENTS.md").write_bytes("Prüfe die Größe.\nSchließe Lücken.\n".encode(encoding))
    [found] = instructions(tmp_path, tmp_path / "none")
    assert found.text == "Prüfe die Größe.\nSchließe Lücken."


def test_a_binary_file_is_no_instruction(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(bytes(range(256)))
    assert list(instructions(tmp_path, tmp_path / "none")) == []


def test_a_link_out_of_the_repository_is_passed_over_but_the_users_own_is_followed(tmp_path: Path) -> None:
    config, repo = tmp_path / "config", tmp_path / "repo"
    for folder in (config, repo / ".git"):
        folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("not yours")
    (repo / "rules.md").write_text("inside")
    for folder in (config, repo):
        (folder / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    (repo / "CLAUDE.md").symlink_to(repo / "rules.md")
    assert [found.text for found in instructions(repo, config)] == ["not yours", "inside"]


def test_a_file_that_another_one_hides_is_named_unless_it_says_the_same(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("ours")
    (tmp_path / "GEMINI.md").write_text("ours")
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n")

    def notes() -> tuple[str, ...]:
        return instruction_set(tmp_path, tmp_path / "none", tmp_path, trusted=True).notes

    assert notes() == ()
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/CLAUDE.md").symlink_to("CLAUDE.md")
    assert notes() == (f"{tmp_path}/.claude/CLAUDE.md is not a regular file: left out.",), "a link to itself"
    (tmp_path / ".claude/CLAUDE.md").unlink()
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\nUse plan mode.")
    assert notes() == (f"{tmp_path}/CLAUDE.md is not read: AGENTS.md counts in its place.",)
    (tmp_path / "AGENTS.md").write_text("ours\n@CLAUDE.md")
    (tmp_path / "GEMINI.md").unlink()
    (tmp_path / "CLAUDE.md").write_text("Use plan mode.")
    assert notes() == ()


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

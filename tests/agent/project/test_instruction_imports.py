"""Imports of instruction files, and every way in which one cannot be followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.project.instruction_imports import imported_names
from agentcli.agent.project.instructions import InstructionSet, instruction_set
from tests.tables import each_row


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path / "repo"


def read(repo: Path, *, trusted: bool = True, cwd: str = "") -> InstructionSet:
    home = repo.parent / "home"
    return instruction_set(repo / cwd, home / ".config", home, trusted=trusted)


def names(found: InstructionSet) -> list[str]:
    return [file.path.name for file in found.files]


@each_row(
    ("text", "found"),
    [
        ("@a.md", ["a.md"]),
        ("See @docs/a.md, and @~/b.md.", ["docs/a.md", "~/b.md"]),
        ("- @./x\n- @../y.md", ["./x", "../y.md"]),
        ("mail me@example.org, `@a.md` and ``x @b.md``", []),
        ("```\n@a.md\n```\n~~~\n@b.md\n~~~\n@c.md", ["c.md"]),
        ("@a.md @a.md", ["a.md"]),
        ("@", []),
        ("@a\\ b.md **@c.md** @d.md#part", ["a b.md", "c.md", "d.md"]),
        ("Code:\n\n    @a.md\n\n- one\n\n    @b.md\ntext\n    @c.md", ["b.md", "c.md"]),
        ("<!-- @a.md --> @b.md <!-- x\n@c.md\n--> @d.md `<!--` @e.md", ["b.md", "d.md", "e.md"]),
        ("```\n<!--\n```\n@a.md", ["a.md"]),
        ("````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]),
        ("```\n```sh\n@a.md\n```\n@b.md", ["b.md"]),
        ("```code``` @a.md\n@b.md", ["a.md", "b.md"]),
    ],
)
def test_imports_stand_outside_of_code(text: str, found: list[str]) -> None:
    assert imported_names(text) == found


def test_imported_files_follow_the_one_that_imports_them(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("Read @docs/style.md")
    (repo / "docs").mkdir()
    (repo / "docs/style.md").write_text("Tabs. @more.md")
    (repo / "docs/more.md").write_text("No semicolons.")
    found = read(repo)
    assert [(file.text, file.imported_by and file.imported_by.name) for file in found.files] == [
        ("Read @docs/style.md", None),
        ("Tabs. @more.md", "AGENTS.md"),
        ("No semicolons.", "AGENTS.md"),
    ]
    assert found.notes == ()


def test_a_folder_that_is_not_trusted_imports_nothing_and_has_no_local_files(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("@more.md")
    (repo / "more.md").write_text("more")
    (repo / "AGENTS.local.md").write_text("mine")
    assert names(read(repo, trusted=False)) == ["AGENTS.md"]
    assert names(read(repo)) == ["AGENTS.md", "more.md", "AGENTS.local.md"]


def test_the_order_of_the_files_of_one_folder(repo: Path) -> None:
    (repo / ".claude").mkdir()
    for name in ("GEMINI.md", ".claude/CLAUDE.md", "CLAUDE.md", "AGENTS.md", "AGENTS.override.md"):
        (repo / name).write_text(name)
        assert read(repo).files[0].text == name
    (repo / "CLAUDE.local.md").write_text("c")
    (repo / "AGENTS.local.md").write_text("a")
    assert names(read(repo)) == ["AGENTS.override.md", "AGENTS.local.md", "CLAUDE.local.md"]


def test_cycles_missing_files_and_links_out_are_named_and_left_as_they_are_written(repo: Path) -> None:
    (repo.parent / "secret.md").write_text("secret")
    (repo / "link.md").symlink_to("../secret.md")
    (repo / "AGENTS.md").write_text("@a.md @none.md @link.md @../secret.md @alice")
    (repo / "a.md").write_text("@AGENTS.md")
    found = read(repo)
    assert names(found) == ["AGENTS.md", "a.md"]
    notes = "\n".join(found.notes)
    assert "a.md: @AGENTS.md is not imported: it imports itself." in notes
    assert "@none.md is not imported: there is no such file." in notes
    assert notes.count("it lies outside") == 2
    assert "alice" not in notes


def test_imports_are_followed_five_deep_and_up_to_their_limit(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("@1.md")
    for number in range(1, 8):
        (repo / f"{number}.md").write_text(f"@{number + 1}.md")
    found = read(repo)
    assert names(found) == ["AGENTS.md", *(f"{number}.md" for number in range(1, 6))]
    assert "@6.md is not imported: it lies more than 5 imports deep." in found.notes[0]
    (repo / "1.md").write_bytes(b"x" * 10_000_000)
    assert "imports may have 100,000 bytes together" in read(repo).notes[0]


def test_the_users_own_file_imports_from_its_home_alone(repo: Path) -> None:
    home = repo.parent / "home"
    (home / ".config").mkdir()
    (home / ".config/AGENTS.md").write_text("@~/mine.md @/etc/hostname")
    (home / "mine.md").write_text("mine")
    found = read(repo, trusted=False)
    assert names(found) == ["AGENTS.md", "mine.md"]
    assert "it lies outside" in found.notes[0]

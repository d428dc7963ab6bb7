import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.paths import CommandLimits, Workspace
from agentcli.permissions.rules import Rules
from agentcli.permissions.shell.parse import parse
from tests.permissions.corpus import commands, workspace
from tests.permissions.deciding import explain

SAFE = commands("safe.txt") + commands("everyday.txt")
HOSTILE = commands("hostile.txt") + commands("traps.txt")
SECRETS = commands("secrets.txt")
JOINTS = (" && ", " || ", "; ", " | ", "\n", " & ", "\n\n", " |& ", ";", "&&")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("corpus"))


def decided(command: str, place: Workspace, mode: Mode = "ask") -> str:
    return explain(ToolCall("c", "bash", {"command": command}), Rules(), mode, place).decision


def whole(command: str) -> bool:
    """A hostile command that stays what it is when something is put beside it."""
    ends = ("|", "&&", "||", "\\", "&", ";", "(", "{")
    bare = command.strip()
    return bool(bare) and not bare.endswith(ends) and not bare.startswith(("&", "|", ";", ")")) and parse(command).whole


def test_no_ordinary_reading_command_asks(place: Workspace) -> None:
    assert len(SAFE) > 1_000
    assert [command for command in SAFE if decided(command, place) != "allow"] == []


def test_no_hostile_command_runs_unasked(place: Workspace) -> None:
    assert len(HOSTILE) > 2_500
    assert [command for command in HOSTILE if decided(command, place) == "allow"] == []
    assert [command for command in HOSTILE if decided(command, place, "plan") == "allow"] == []


def test_no_search_reads_a_secret_unasked(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.cwd / "src/.env.local").write_text("KEY=1\n")
    (place.cwd / ".env").write_text("KEY=1\n")
    assert [command for command in SECRETS if decided(command, place) == "allow"] == []


def test_an_ignore_file_that_brings_a_secret_in_makes_a_search_ask(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.cwd / ".env").write_text("KEY=1\n")
    assert decided("rg KEY", place) == "allow"
    for name in (".gitignore", ".ignore", ".rgignore"):
        (place.cwd / name).write_text("# notes\n.env*\n!.env\n")
        assert decided("rg KEY", place) == "ask", name
        (place.cwd / name).write_text(".env*\n!.env.example\n!src/\n")
        assert decided("rg KEY", place) == "allow", name


def test_patterns_that_leave_a_secret_out_do_not_nag(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.cwd / ".env").write_text("KEY=1\n")
    for command in (
        "rg -g '*.{ts,tsx}' KEY",
        "rg -g 'src/**' KEY",
        "rg -tpy KEY",
        "rg -g '!*.md' KEY",
        "grep -rn KEY . --include='*.py' --exclude-dir=.git",
        "grep -rn KEY src",
        "diff -r src src/pkg",
    ):
        assert decided(command, place) == "allow", command


def test_a_comparison_of_folders_follows_no_link_out(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    assert decided("diff -r src src/pkg", place) == "allow"
    (place.cwd / "src/x").symlink_to("/etc")
    assert decided("diff -r src src/pkg", place) == "ask"
    assert decided("diff src src/pkg", place) == "ask"


def test_a_search_too_large_to_be_looked_at_first_asks(tmp_path: Path) -> None:
    place = replace(workspace(tmp_path), limits=CommandLimits(walk=5))
    assert decided("grep -rn KEY .", place) == "ask"
    assert decided("grep -rn KEY src/pkg", place) == "allow"
    assert decided("rg KEY", place) == "allow", "ripgrep skips hidden files by itself"


def test_a_toolchain_that_the_module_names_is_not_fetched_unasked(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    assert decided("go version", place) == "allow"
    (place.cwd / "go.mod").write_text("go 1.99\n")
    assert decided("go version", place) == "ask"
    assert decided("cd src && go env GOPATH", place) == "ask"


WHOLE = [command for command in HOSTILE if whole(command)]
UNMOVED = [command for command in SAFE if "cd " not in command and "#" not in command]


@given(st.sampled_from(UNMOVED), st.sampled_from(JOINTS), st.sampled_from(WHOLE), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_hostile_command_spliced_onto_a_safe_one_never_runs_unasked(
    place: Workspace, safe: str, joint: str, hostile: str, first: bool
) -> None:
    line = hostile + joint + safe if first else safe + joint + hostile
    assert decided(line, place) != "allow", line


@pytest.mark.slow
def test_no_splice_of_both_corpora_runs_unasked(place: Workspace) -> None:
    dice = random.Random(7)
    for _ in range(10_000):
        parts = [*dice.choices(UNMOVED, k=dice.randint(0, 3)), dice.choice(WHOLE), dice.choice(UNMOVED)]
        line = parts[0]
        for part in parts[1:]:
            line += dice.choice(JOINTS) + part
        assert decided(line, place) != "allow", line


def test_safe_commands_may_be_joined_freely(place: Workspace) -> None:
    dice = random.Random(11)
    for _ in range(300):
        line = (
            dice.choice(UNMOVED).strip()
            + dice.choice((" && ", " || ", "; ", " | ", "\n"))
            + dice.choice(UNMOVED).strip()
        )
        assert decided(line, place) == "allow", line


def test_a_folder_that_is_no_repository_reads_the_same(tmp_path: Path) -> None:
    assert decided("git status && git log --oneline | head", Workspace(tmp_path)) == "allow"


def test_without_a_repository_git_compares_no_folders_unasked(place: Workspace, tmp_path: Path) -> None:
    assert decided("git diff src src/pkg", Workspace(tmp_path)) == "ask"
    assert decided("git diff src src/pkg", place) == "allow"

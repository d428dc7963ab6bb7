import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.record import Mode
from agentcli.permissions.paths import CommandLimits, Workspace
from agentcli.permissions.shell.effects.searches import search_of
from agentcli.permissions.shell.programs.readers import READERS, SEARCHING
from agentcli.permissions.shell.syntax.flow import runs_of
from agentcli.permissions.shell.syntax.parse import parse
from agentcli.permissions.shell.syntax.strict import read_plain
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain_command
from tests.sampling import sampled

SAFE = commands("safe.txt") + commands("everyday.txt")
HOSTILE = commands("hostile.txt") + commands("traps.txt")
SECRETS = commands("secrets.txt")
JOINTS = (" && ", " || ", "; ", " | ", "\n", " & ", "\n\n", " |& ", ";", "&&")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("corpus"))


def decided(command: str, workspace: Workspace, mode: Mode = "ask") -> str:
    return explain_command(command, workspace, mode).decision


def whole(command: str) -> bool:
    """A hostile command that stays what it is when something is put beside it."""
    ends = ("|", "&&", "||", "\\", "&", ";", "(", "{")
    bare = command.strip()
    return bool(bare) and not bare.endswith(ends) and not bare.startswith(("&", "|", ";", ")")) and parse(command).whole


def test_no_ordinary_reading_command_asks(workspace: Workspace) -> None:
    assert len(SAFE) > 1_000
    assert [command for command in SAFE if decided(command, workspace) != "allow"] == []


@pytest.mark.parametrize("part", sampled(range(3), 3))
def test_no_hostile_command_runs_unasked(workspace: Workspace, part: int) -> None:
    hostile = HOSTILE[part::3]
    assert len(hostile) > 800
    assert [command for command in hostile if decided(command, workspace) == "allow"] == []
    assert [command for command in hostile[::5] if decided(command, workspace, "plan") == "allow"] == []


@pytest.mark.parametrize("part", sampled(range(8), 8))
def test_a_plain_line_that_names_no_move_is_followed_to_no_other_folder(workspace: Workspace, part: int) -> None:
    plain = [command for command in (SAFE + HOSTILE)[part::8] if isinstance(read_plain(command), tuple)]
    still = [command for command in plain if not any(move in command for move in ("cd", "pushd", "popd", "chdir"))]
    assert len(still) > 100
    folders = {run.folders for command in still for run in runs_of(command, workspace) or ()}
    assert folders == {(workspace.cwd,)}


def test_the_programs_that_search_are_named_where_the_others_pass(workspace: Workspace) -> None:
    every = ["-r", "-u", "-R", "--recursive", "--hidden", "--unrestricted"]
    assert {name for name in READERS if search_of(name, every, []) is not None} == SEARCHING


def test_no_search_reads_a_secret_unasked(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / "src/.env.local").write_text("KEY=1\n")
    (workspace.cwd / ".env").write_text("KEY=1\n")
    assert [command for command in SECRETS if decided(command, workspace) == "allow"] == []


def test_an_ignore_file_that_brings_a_secret_in_makes_a_search_ask(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / ".env").write_text("KEY=1\n")
    assert decided("rg KEY", workspace) == "allow"
    for name in (".gitignore", ".ignore", ".rgignore"):
        (workspace.cwd / name).write_text("# notes\n.env*\n!.env\n")
        assert decided("rg KEY", workspace) == "ask", name
        (workspace.cwd / name).write_text(".env*\n!.env.example\n!src/\n")
        assert decided("rg KEY", workspace) == "allow", name


def test_patterns_that_leave_a_secret_out_do_not_nag(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / ".env").write_text("KEY=1\n")
    for command in (
        "rg -g '*.{ts,tsx}' KEY",
        "rg -g 'src/**' KEY",
        "rg -tpy KEY",
        "rg -g '!*.md' KEY",
        "grep -rn KEY . --include='*.py' --exclude-dir=.git",
        "grep -rn KEY src",
        "diff -r src src/pkg",
    ):
        assert decided(command, workspace) == "allow", command


def test_a_comparison_of_folders_follows_no_link_out(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    assert decided("diff -r src src/pkg", workspace) == "allow"
    (workspace.cwd / "src/x").symlink_to("/etc")
    assert decided("diff -r src src/pkg", workspace) == "ask"
    assert decided("diff src src/pkg", workspace) == "ask"


def test_a_search_too_large_to_be_looked_at_first_asks(tmp_path: Path) -> None:
    workspace = replace(make_workspace(tmp_path), limits=CommandLimits(walk=5))
    assert decided("grep -rn KEY .", workspace) == "ask"
    assert decided("grep -rn KEY src/pkg", workspace) == "allow"
    assert decided("rg KEY", workspace) == "allow", "ripgrep skips hidden files by itself"


def test_a_toolchain_that_the_module_names_is_not_fetched_unasked(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    assert decided("go version", workspace) == "allow"
    (workspace.cwd / "go.mod").write_text("go 1.99\n")
    assert decided("go version", workspace) == "ask"
    assert decided("cd src && go env GOPATH", workspace) == "ask"


@cache
def whole_hostile() -> list[str]:
    return [command for command in HOSTILE if whole(command)]


UNMOVED = [command for command in SAFE if "cd " not in command and "#" not in command]


@pytest.mark.full
@given(
    st.sampled_from(UNMOVED),
    st.sampled_from(JOINTS),
    st.deferred(lambda: st.sampled_from(whole_hostile())),
    st.booleans(),
)
@settings(max_examples=300)
def test_a_hostile_command_spliced_onto_a_safe_one_never_runs_unasked(
    workspace: Workspace, safe: str, joint: str, hostile: str, first: bool
) -> None:
    line = hostile + joint + safe if first else safe + joint + hostile
    assert decided(line, workspace) != "allow", line


@pytest.mark.slow
def test_no_splice_of_both_corpora_runs_unasked(workspace: Workspace) -> None:
    dice = random.Random(7)
    for _ in range(10_000):
        parts = [*dice.choices(UNMOVED, k=dice.randint(0, 3)), dice.choice(whole_hostile()), dice.choice(UNMOVED)]
        line = parts[0]
        for part in parts[1:]:
            line += dice.choice(JOINTS) + part
        assert decided(line, workspace) != "allow", line


def test_safe_commands_may_be_joined_freely(workspace: Workspace) -> None:
    dice = random.Random(11)
    for _ in range(300):
        line = (
            dice.choice(UNMOVED).strip()
            + dice.choice((" && ", " || ", "; ", " | ", "\n"))
            + dice.choice(UNMOVED).strip()
        )
        assert decided(line, workspace) == "allow", line


def test_a_folder_that_is_no_repository_reads_the_same(tmp_path: Path) -> None:
    assert decided("git status && git log --oneline | head", Workspace(tmp_path)) == "allow"


def test_without_a_repository_git_compares_no_folders_unasked(workspace: Workspace, tmp_path: Path) -> None:
    assert decided("git diff src src/pkg", Workspace(tmp_path)) == "ask"
    assert decided("git diff src src/pkg", workspace) == "allow"


def test_a_file_type_reads_a_hidden_secret_that_has_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name, asked in ((".env", "allow"), (".env.py", "ask"), (".env.PY", "ask"), (".env.unknown", "allow")):
        secret = workspace.cwd / name
        secret.write_text("KEY=1\n")
        assert decided("rg -tpy KEY", workspace) == asked, name
        assert decided("rg KEY", workspace) == "allow", name
        secret.unlink()

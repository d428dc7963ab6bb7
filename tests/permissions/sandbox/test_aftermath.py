"""What commands in the sandbox leave in the workspace that would take effect outside: it is set aside, or reported."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.aftermath import Aftermath
from tests.permissions.sandbox.running import completed
from tests.tables import each_row


def repository(folder: Path) -> None:
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")


@each_row(
    ("made", "kept"),
    [
        (".vscode/tasks.json", ".vscode.made-in-sandbox/tasks.json"),
        ("sub/.git/config", "sub/.git.made-in-sandbox/config"),
        ("sub/.GIT/config", "sub/.GIT.made-in-sandbox/config"),
        ("sub/.claude/settings.json", "sub/.claude.made-in-sandbox/settings.json"),
        ("AGENTS.md", "AGENTS.md.made-in-sandbox"),
        ("deep/er/.bashrc", "deep/er/.bashrc.made-in-sandbox"),
        ("src/.mcp.json", "src/.mcp.json.made-in-sandbox"),
    ],
)
def test_what_a_command_made_is_set_aside_and_told(tmp_path: Path, made: str, kept: str) -> None:
    left = Aftermath().inside(Workspace(tmp_path), aside=True)
    (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / made).write_text("x")
    [told] = left()
    assert ".made-in-sandbox" in told
    assert not (tmp_path / made).exists()
    assert (tmp_path / kept).read_text() == "x"


def test_links_bare_repositories_and_what_takes_the_place_of_another_file_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/AGENTS.md").write_text("mine")
    left = Aftermath().inside(Workspace(tmp_path), aside=True)
    (tmp_path / "evil").mkdir()
    (tmp_path / ".vscode").symlink_to("evil")
    repository(tmp_path / "server.git")
    (tmp_path / "sub").rename(tmp_path / "moved")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/AGENTS.md").write_text("theirs")
    assert len(left()) == 3
    assert not os.path.lexists(tmp_path / ".vscode")
    assert not (tmp_path / "server.git/HEAD").exists()
    assert not (tmp_path / "sub/AGENTS.md").exists()
    assert (tmp_path / "moved/AGENTS.md").read_text() == "mine"


def test_settings_of_git_beside_its_records_are_told(tmp_path: Path) -> None:
    repository(tmp_path / ".git")
    left = Aftermath().inside(Workspace(tmp_path), aside=True)
    (tmp_path / ".git/commondir").write_text("../evil")
    assert left() == [".git/commondir (now commondir.made-in-sandbox)"]


def test_files_of_secrets_and_pipes_are_told_and_stay(tmp_path: Path) -> None:
    left = Aftermath().inside(Workspace(tmp_path), aside=True)
    (tmp_path / ".env").write_text("A=1")
    os.mkfifo(tmp_path / "pipe")
    assert sorted(left()) == [".env", "pipe (a special file)"]
    assert (tmp_path / ".env").exists()


@pytest.mark.skipif(detect().kind != "bubblewrap", reason="only bubblewrap makes files to mount over")
def test_a_file_of_secrets_that_vanished_before_the_sandbox_was_there_leaves_nothing(tmp_path: Path) -> None:
    for name in (".env", ".env.local", ".env.test"):
        (tmp_path / name).write_text("A=1")
    workspace, sandbox = Workspace(tmp_path), detect()
    boxed = sandbox.wrap(["cat", ".env", ".env.local", ".env.test"], workspace)
    left = Aftermath().inside(workspace, aside=True)
    (tmp_path / ".env").unlink()
    (tmp_path / ".env.local").unlink()
    ran = completed(replace(boxed, again=None), tmp_path, os.environ)
    assert (ran.returncode, (tmp_path / ".env").exists()) == (0, True)
    (tmp_path / "new").write_text("B=2")
    (tmp_path / "new").rename(tmp_path / ".env.local")
    assert left() == [".env.local"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env.local", ".env.test"]


def test_what_a_job_has_made_is_told_before_a_command_runs_outside(tmp_path: Path) -> None:
    after = Aftermath()
    ended = after.inside(Workspace(tmp_path), aside=False)
    (tmp_path / ".envrc").write_text("x")
    outside = after.outside(Workspace(tmp_path))
    (tmp_path / ".vscode").mkdir()
    assert outside() == [".envrc"]
    assert ended() == [], "what a command outside made is known"
    assert (tmp_path / ".vscode").is_dir()


@each_row(
    ("name", "text", "told"),
    [
        ("config", "[core]\n\tbare = false\n[user]\n\tname = x\n", False),
        ("hooks/x.sample", "", False),
        ("hooks/pre-commit", "", True),
        ("config", '[remote "o"]\n\turl = x\n', True),
        ("config", "[core]\n\tfsmonitor = x\n", True),
        ("config", "[include]\n\tpath = x\n", True),
        ("commondir", "x", True),
        ("objects/info/alternates", "x", True),
        ("worktrees/x/gitdir", "x", True),
    ],
)
def test_a_repository_that_git_began_is_told_unless_it_starts_nothing_and_leads_nowhere(
    tmp_path: Path, name: str, text: str, told: bool
) -> None:
    after, workspace = Aftermath(), Workspace(tmp_path)

    def begin(folder: str) -> None:
        repository(tmp_path / folder / ".git")
        (tmp_path / folder / ".git/config").write_text("[core]\n\tbare = false\n")
        (tmp_path / folder / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / ".git" / name).write_text(text)

    left = after.inside(workspace, aside=False, by_git=True)
    begin("a")
    assert left() == ([os.path.join("a", ".git")] if told else [])
    for by_git, beside in ((False, False), (True, True)):
        other = after.inside(workspace, aside=False) if beside else None
        left = after.inside(workspace, aside=False, by_git=by_git)
        begin(f"b{beside}")
        assert left() == [f"b{beside}/.git"], "another program may have made it"
        assert other is None or other() == []
    left = after.inside(workspace, aside=False, by_git=True)
    after.inside(workspace, aside=False)()
    begin("c")
    assert left() == ["c/.git"]

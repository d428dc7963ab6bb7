"""Protected names in a workspace: all of them are found, and what a command made of them is set aside."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox.aftermath import Aftermath
from agentcli.permissions.sandbox.protected import Watched, set_aside
from tests.tables import each_row


def names(watched: Watched) -> list[Path]:
    return sorted(name.path for name in watched.look().protected)


def old(*folders: Path) -> None:
    """Wait until the times of folders tell a change from what was before."""
    while any(folder.stat().st_ctime_ns + 30_000_000 > time.time_ns() for folder in folders):
        time.sleep(0.01)


def repository(folder: Path) -> None:
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")


def test_names_are_found_below_thousands_of_entries(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"a{number}").mkdir()
        for other in range(100):
            (tmp_path / f"a{number}/{other}").touch()
    (tmp_path / "z/deep/er/.vscode").mkdir(parents=True)
    (tmp_path / "z/deep/AGENTS.md").touch()
    found = Watched(tmp_path).look()
    assert sorted(name.path for name in found.protected) == [
        tmp_path / "z/deep/AGENTS.md",
        tmp_path / "z/deep/er/.vscode",
    ]
    assert found.closed == ()


def test_a_limit_closes_the_folders_that_were_not_looked_through(tmp_path: Path) -> None:
    for name in ("a/b", "c/d/e/f", "c/d/g"):
        (tmp_path / name).mkdir(parents=True)
    assert Watched(tmp_path, folders=2).look().closed == (tmp_path / "a", tmp_path / "c")
    assert Watched(tmp_path, folders=4).look().closed == (tmp_path / "c",)
    assert Watched(tmp_path, folders=8).look().closed == ()


def test_too_many_names_close_the_folders_that_hold_the_most(tmp_path: Path) -> None:
    for name in ("many/1", "many/2", "many/3", "few/1"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "AGENTS.md").touch()
    found = Watched(tmp_path, names=2).look()
    assert found.closed == (tmp_path / "many",)
    assert [name.path for name in found.protected] == [tmp_path / "few/1/AGENTS.md"]


def test_a_second_look_sees_what_has_changed(tmp_path: Path) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    watched = Watched(tmp_path)
    old(tmp_path, tmp_path / "sub", tmp_path / "sub/deep")
    assert names(watched) == []
    (tmp_path / "sub/deep/.envrc.d").mkdir()
    (tmp_path / "sub/deep/.mcp.json").touch()
    assert names(watched) == [tmp_path / "sub/deep/.mcp.json"]
    (tmp_path / "sub/deep/.mcp.json").unlink()
    assert names(watched) == []


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


def test_what_a_job_has_made_is_told_before_a_command_runs_outside(tmp_path: Path) -> None:
    after = Aftermath()
    ended = after.inside(Workspace(tmp_path), aside=False)
    (tmp_path / ".envrc").write_text("x")
    outside = after.outside(Workspace(tmp_path))
    (tmp_path / ".vscode").mkdir()
    assert outside() == [".envrc"]
    assert ended() == [], "what a command outside made is known"
    assert (tmp_path / ".vscode").is_dir()


def test_no_link_is_followed_to_set_a_file_aside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/.envrc").touch()
    (tmp_path / "link").symlink_to("real")
    assert set_aside(tmp_path / "link/.envrc") == ""
    assert (tmp_path / "real/.envrc").exists()

"""Protected names in a workspace: all of them are found, and what a command made of them is set aside."""

from __future__ import annotations

import time
from pathlib import Path

from agentcli.permissions.sandbox.protected import Watched, set_aside


def names(watched: Watched) -> list[Path]:
    return sorted(name.path for name in watched.look().protected)


def old(*folders: Path) -> None:
    """Wait until the times of folders tell a change from what was before."""
    while any(folder.stat().st_ctime_ns + 30_000_000 > time.time_ns() for folder in folders):
        time.sleep(0.01)


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


def test_what_is_made_or_moved_between_two_looks_is_seen_in_folders_that_were_known(tmp_path: Path) -> None:
    places = ("one/deep", "two/deep", "three")
    for name in places:
        (tmp_path / name).mkdir(parents=True)
    watched = Watched(tmp_path)
    old(tmp_path, *(tmp_path / name for name in (*places, "one", "two")))
    assert names(watched) == []
    (tmp_path / "one/deep/.env").touch()
    (tmp_path / "three/AGENTS.md").touch()
    old(tmp_path / "one/deep", tmp_path / "three")
    found = watched.look()
    assert [name.path for name in found.private] == [tmp_path / "one/deep/.env"]
    assert [name.path for name in found.protected] == [tmp_path / "three/AGENTS.md"]
    (tmp_path / "one").rename(tmp_path / "other")
    (tmp_path / "two").rename(tmp_path / "one")
    (tmp_path / "other").rename(tmp_path / "two")
    found = watched.look()
    assert [name.path for name in found.private] == [tmp_path / "two/deep/.env"]


def test_an_unchanged_workspace_is_not_gone_through_again_also_with_secrets(tmp_path: Path) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "sub/.env").touch()
    watched = Watched(tmp_path)
    old(tmp_path, tmp_path / "sub", tmp_path / "sub/deep")
    first = watched.look()
    assert watched.look() is first
    (tmp_path / "sub/deep/.env").touch()  # in a folder whose time does not tell a further change
    assert {name.path.parent for name in watched.look().private} == {tmp_path / "sub", tmp_path / "sub/deep"}
    (tmp_path / "sub/deep/.env.local").touch()
    assert len(watched.look().private) == 3
    old(tmp_path / "sub/deep")
    (tmp_path / "sub/.env").unlink()
    (tmp_path / "sub/deep").rename(tmp_path / "sub/moved")
    private = [name.path for name in watched.look().private]
    assert private == [tmp_path / "sub/moved/.env", tmp_path / "sub/moved/.env.local"]


def test_secrets_that_depend_on_other_folders_are_looked_at_each_time(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / ".env/pyvenv.cfg").touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/link").symlink_to(tmp_path / "a/one")
    (tmp_path / "a/.env").symlink_to(tmp_path / "a/link")
    (tmp_path / "b").mkdir()
    (tmp_path / "a/one").symlink_to(tmp_path / "b/one")
    watched = Watched(tmp_path)
    old(tmp_path, tmp_path / ".env", tmp_path / "a", tmp_path / "b")
    assert [name.path for name in watched.look().private] == [tmp_path / "b/one"]
    (tmp_path / ".env/pyvenv.cfg").unlink()
    (tmp_path / "b/one").symlink_to(tmp_path / "b/two")
    assert [name.path for name in watched.look().private] == [tmp_path / ".env", tmp_path / "b/two"]


def test_no_link_is_followed_to_set_a_file_aside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/.envrc").touch()
    (tmp_path / "link").symlink_to("real")
    assert set_aside(tmp_path / "link/.envrc") == ""
    assert (tmp_path / "real/.envrc").exists()

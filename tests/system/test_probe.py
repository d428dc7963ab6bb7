"""Questions about guessed paths: none raises, and no module asks in another way."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

import agentcli
from agentcli.system import probe
from tests.tables import each_row

SOURCE = Path(agentcli.__file__).parent
OWN = {
    "sessions": "the store's own folders: one that cannot be read must not count as missing",
    "resources.py": "the package's own files",
    "permissions/git_config.py": "an error counts as a danger",
    "frontends/commands/notes.py": "a file that cannot be read must not be replaced",
    "system/locked_file.py": "a file that cannot be read must not be replaced",
}
"""Modules that ask `Path` itself, and why its errors matter there."""


@each_row("name", ["x" * 300, "/" + "y/" * 3000, "a\0b", "loop/x", "missing", "half \udc80"])
def test_a_path_that_no_system_call_finds_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    path = tmp_path / name
    assert (probe.exists(path), probe.is_dir(path), probe.is_file(path)) == (False, False, False)


def test_a_time_in_full_seconds_or_hundredths_may_hide_a_change_for_longer() -> None:
    second = 1_000_000_000
    now = time.time_ns()
    for unit in (second, second // 100):
        assert not probe.is_settled((1, 2, now // unit * unit - second // 100 * 5))
        assert probe.is_settled((1, 2, (now // unit - 3 * second // unit) * unit))
    assert probe.is_settled((1, 2, (now - second) // second * second + 1))


def test_folders_that_changed_are_told_by_their_names_from_the_first(tmp_path: Path) -> None:
    for name in ("top/a/deep", "top/b", "other"):
        (tmp_path / name).mkdir(parents=True)
    top, folders = str(tmp_path / "top"), [str(tmp_path / name) for name in ("top", "top/a/deep", "top/b", "other")]
    names = [probe.name_below(top, folder) for folder in folders]
    assert names == [".", "a/deep", "b", folders[3]]
    assert (probe.name_below("/", "/etc"), probe.name_below("/a", "/ab")) == ("etc", "/ab")
    stamps = {name: probe.stamp_of(folder) for name, folder in zip(names, folders, strict=True)}
    assert probe.changed(top, stamps) == set()
    assert probe.changed(top, {**stamps, "b": None}) == {"b"}
    (tmp_path / "top/a/deep").rmdir()
    (tmp_path / "other/new").touch()
    assert probe.changed(top, stamps) == {"a/deep", folders[3]}
    (tmp_path / "top").rename(tmp_path / "moved")
    assert probe.changed(top, stamps) == set(names)


def test_files_folders_and_links_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    found = {
        name: (probe.exists(path), probe.is_dir(path), probe.is_file(path))
        for name in ("file", "link")
        for path in [tmp_path / name]
    }
    assert found == {"file": (True, False, True), "link": (True, True, False)}


@pytest.mark.full
def test_no_module_asks_about_a_guessed_path_in_a_way_that_may_raise() -> None:
    asked = [
        f"{file}:{call.lineno}"
        for path in SOURCE.rglob("*.py")
        if not (file := path.relative_to(SOURCE).as_posix()).startswith(tuple(OWN))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.args
        if call.func.attr in ("is_dir", "is_file", "exists") and not call.keywords
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "entry")  # an os.DirEntry
    ]
    assert asked == []

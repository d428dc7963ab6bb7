"""Files of agentcli that are replaced in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.system.paths import replace_file


def test_a_file_is_replaced_whole_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "values.json"
    replace_file(path, "äöü\r\n", mode=0o600)
    replace_file(path, "b", mode=0o600)
    assert path.read_bytes() == b"b"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*path.parent.iterdir()] == [path]


def test_text_that_cannot_take_a_files_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "values.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "values.json", "text")
    assert [*tmp_path.iterdir()] == [tmp_path / "values.json"]


def test_a_file_that_is_replaced_keeps_its_mode_and_never_gets_more_than_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    for before, asked, after in ((0o600, 0o666, 0o600), (0o640, 0o666, 0o640), (0o644, 0o600, 0o600)):
        path.write_text("old")
        path.chmod(before)
        replace_file(path, "new", mode=asked)
        assert (path.stat().st_mode & 0o777, path.read_text()) == (after, "new")


def test_a_file_with_the_longest_name_is_replaced(tmp_path: Path) -> None:
    replace_file(tmp_path / ("n" * 255), "text")
    assert (tmp_path / ("n" * 255)).read_text() == "text"

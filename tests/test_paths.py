"""Files of agentcli that are replaced in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.paths import replace_file


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

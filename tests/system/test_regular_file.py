from __future__ import annotations

import os
import time
from pathlib import Path

from agentcli.system.regular_file import version


def test_a_version_stays_the_same_until_the_file_is_written_or_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert version(file) == ()
    file.write_text("one")
    assert version(file) != version(file)  # another change could bear the same time
    while (first := version(file)) != version(file):
        time.sleep(0.01)
    file.write_text("two")
    assert version(file) != first
    while (second := version(file)) != version(file):
        time.sleep(0.01)
    (tmp_path / "b").write_text("two")
    os.utime(tmp_path / "b", ns=(second[3], second[3]))
    os.replace(tmp_path / "b", file)
    assert version(file) != second

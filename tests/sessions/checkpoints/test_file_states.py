"""States of files: of a few before an edit, or of a whole workspace before a command."""

from __future__ import annotations

import os
from pathlib import Path

from agentcli.sessions.checkpoints.file_states import StateReader, plain_listing
from agentcli.sessions.checkpoints.objects import Objects
from tests.sessions.disks import Hasty


class Counting(Objects):
    """Counts how many contents it is given."""

    count = 0

    def keep(self, data: bytes, durable: bool = False) -> str:
        self.count += 1
        return super().keep(data, durable)


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for n in range(50):
        (root / f"{n}").write_text(str(n))
        os.utime(root / f"{n}", (1, 1))
    objects = Counting(tmp_path / "c", Hasty())
    reader = StateReader(objects)
    reader.read_all([root], plain_listing)
    assert objects.count == 50
    (root / "7").write_text("changed")
    reader.read_all([root], plain_listing)
    assert objects.count == 51

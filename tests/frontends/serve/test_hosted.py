"""The process of a session without a terminal."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from agentcli.frontends.serve.hosted import GARBAGE, host_session
from agentcli.program.options import Options


def test_a_process_that_lives_long_beside_others_looks_for_garbage_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start puts the search off, to be fast."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    class Looks:
        async def run(self) -> int:
            return gc.get_threshold()[0]

    def hosted(*_: object) -> Any:
        return Looks()

    before = gc.get_threshold()
    gc.set_threshold(200_000)
    try:
        assert host_session(Options(cwd=str(tmp_path), model="script:echo"), hosted) == GARBAGE
    finally:
        gc.set_threshold(*before)

"""The replay of patches tells equal files from others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.bench_patches import half_of, recorded, replayed

DIRECTORY = "/home/her/project"
PATCH = f"*** Begin Patch\n*** Update File: {DIRECTORY}/a.py\n@@\n-x\n+y\n*** End Patch"


def session(folder: Path, name: str, after: str, status: str = "completed") -> None:
    """A session with one patch."""
    file = {"filePath": f"{DIRECTORY}/a.py", "type": "update", "before": "x\n", "after": after}
    state: dict[str, Any] = {"status": status, "input": {"patchText": PATCH}, "metadata": {"files": [file]}}
    part = {"type": "tool", "tool": "apply_patch", "callID": "c1", "state": state}
    raw = {"info": {"id": name, "directory": DIRECTORY}, "messages": [{"parts": [part]}]}
    (folder / f"{name}.json").write_text(json.dumps(raw))


@pytest.mark.parametrize(
    ("after", "trouble"), [("y\n", ""), ("z\n", "differs: a.py"), ("y \n", "differs by blanks: a.py")]
)
def test_a_patch_is_equal_only_with_the_recorded_bytes(tmp_path: Path, after: str, trouble: str) -> None:
    (tmp_path / "sessions").mkdir()
    session(tmp_path / "sessions", "s1", after)
    [patch] = recorded(tmp_path / "sessions", "all")
    assert replayed(patch, tmp_path) == trouble


def test_each_patch_that_succeeded_counts_once_and_in_one_half(tmp_path: Path) -> None:
    for name in ("s1", "s2", "s3", "s4"):
        session(tmp_path, name, "y\n")
    session(tmp_path, "failed", "y\n", status="error")
    (tmp_path / "again.json").write_bytes((tmp_path / "s1.json").read_bytes())
    (tmp_path / "other.txt").write_text("no session")
    halves = [len([*recorded(tmp_path, half)]) for half in ("tuning", "unseen", "all")]
    assert halves[2] == 4
    assert halves[0] == sum(half_of(name) == "tuning" for name in ("s1", "s2", "s3", "s4"))
    assert halves[0] + halves[1] == 4

"""README: the files and folders that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = sorted(set(re.findall(r"`((?:[\w.]+/)+(?:\w+\.\w+)?)`", (ROOT / "README.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", NAMED)
def test_a_path_that_the_readme_names_exists(path: str) -> None:
    assert (ROOT / "agentcli" / path).exists() or (ROOT / path).exists()

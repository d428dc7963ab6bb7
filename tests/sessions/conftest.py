"""Each test has a store of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.sessions.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions")

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)

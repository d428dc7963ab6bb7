"""Nothing outside is read or written through a folder that another process swaps for a link meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.attack.link_swap import MODES, attack, sandboxes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="exchanges two names in one step with renameat2")
WHOLE = 2_000


@pytest.mark.parametrize("mode", ["auto-edit", "auto"])
def test_file_tools_stay_inside(tmp_path: Path, mode: str) -> None:
    found = attack(tmp_path, mode, "off", 126)
    assert (found.calls, found.read, found.written) == (126, 0, [])
    assert found.ended["read success"], found.ended


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("sandbox", sandboxes())
@pytest.mark.parametrize("mode", MODES)
def test_file_tools_stay_inside_for_thousands_of_calls(tmp_path: Path, mode: str, sandbox: str) -> None:
    found = attack(tmp_path, mode, sandbox, WHOLE)
    assert (found.calls, found.read, found.written) == (WHOLE, 0, [])

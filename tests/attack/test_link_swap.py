"""Nothing outside is read or written through a folder that another process swaps for a link meanwhile."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.link_swap import MODES, attack, sandboxes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="exchanges two names in one step with renameat2")
WHOLE = 2_000


@pytest.fixture
def home_folder() -> Iterator[Path]:
    """A folder that is not below one for temporary files, which a sandbox may cover anyway."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-swap-", dir=Path.home()) as folder:
        yield Path(folder).resolve()


@pytest.mark.parametrize("mode", ["auto-edit", "auto"])
def test_file_tools_stay_inside(tmp_path: Path, mode: str) -> None:
    found = attack(tmp_path, mode, "off", 126)
    assert (found.calls, found.read, found.written) == (126, 0, [])
    assert any(how.endswith("success") for how in found.ended), found.ended


@pytest.mark.full
@pytest.mark.parametrize("sandbox", [sandbox for sandbox in sandboxes() if sandbox != "off"])
def test_a_command_that_runs_unasked_reads_nothing_outside(home_folder: Path, sandbox: str) -> None:
    found = attack(home_folder, "auto", sandbox, 72, shell=True)
    assert (found.calls, found.read, found.written) == (72, 0, [])
    assert found.ended["bash success"], found.ended


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("sandbox", [sandbox for sandbox in sandboxes() if sandbox != "off"])
@pytest.mark.parametrize("mode", MODES)
def test_thousands_of_commands_that_run_unasked_read_nothing_outside(
    home_folder: Path, mode: str, sandbox: str
) -> None:
    found = attack(home_folder, mode, sandbox, WHOLE, shell=True)
    assert (found.calls, found.read, found.written) == (WHOLE, 0, [])


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("sandbox", sandboxes())
@pytest.mark.parametrize("mode", MODES)
def test_file_tools_stay_inside_for_thousands_of_calls(tmp_path: Path, mode: str, sandbox: str) -> None:
    found = attack(tmp_path, mode, sandbox, WHOLE)
    assert (found.calls, found.read, found.written) == (WHOLE, 0, [])

"""The check of a task, run in the folder in which an agent worked. `python -I -m agentcli.extras.bench.check` reads the"""

from __future__ import annotations

from pathlib import Path

from agentcli.extras.bench.check import BROKE
from tests.extras.bench.test_judging import checked
from tests.tables import each_row


@each_row("script", ["import sys; sys.exit(0)", "print('fine')", "print('solved'); print('or not')", ""])
def test_a_check_that_ends_well_before_it_judged_broke(script: str, tmp_path: Path) -> None:
    code, said = checked(script, tmp_path / "tree")
    assert (code, said.splitlines()[-1]) == (BROKE, "The check ended without a verdict.")

"""A driver that is killed at any row of its ledger, whole or torn, costs no request twice and leaves no task final twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.program import ROOT


def test_a_driver_may_be_killed_at_every_row(tmp_path: Path) -> None:
    # In a process with one thread: it forks.
    command = [sys.executable, "-m", "tests.extras.batch.killed_drivers", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr

"""The folder that commands see as /tmp: nobody else looks into it, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from agentcli.permissions.sandbox.private_tmp import PrivateTmp, sweep

HOLDING = "import sys, time; from pathlib import Path; from agentcli.permissions.sandbox.private_tmp import PrivateTmp; t = PrivateTmp(Path(sys.argv[1])); print(t.path, flush=True); time.sleep(60)"


def test_it_is_there_at_once_for_its_user_alone_and_goes_with_the_run(tmp_path: Path) -> None:
    made = PrivateTmp(tmp_path)
    assert made.path.stat().st_mode & 0o777 == 0o700
    (made.path / "x").touch()
    made.remove()
    assert not made.path.exists()


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        theirs = Path(holder.stdout.readline().strip())
        (theirs / "large").write_text("x")
        other = tmp_path / "agentcli-tmp-mine"
        other.mkdir()
        sweep(tmp_path)
        assert theirs.exists()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        own = PrivateTmp(tmp_path)
        own.sweeping.join()
    assert sorted(tmp_path.iterdir()) == sorted([other, own.path])
    own.remove()

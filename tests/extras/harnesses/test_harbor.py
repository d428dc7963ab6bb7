"""The adapter for Harbor, with a stand-in for Harbor itself; `tests/ecosystem` has the same with the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, Program
from tests.extras.exporters.atif.rules import problems

HERE = Path(__file__).parent / "harbor"


@pytest.mark.full
def test_it_installs_runs_resumes_and_reports(tmp_path: Path) -> None:
    program = Program(tmp_path)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": "Done."}]}))
    env = {**program.env, "PYTHONPATH": f"{HERE / 'stand_in'}:{ROOT}"}
    command = [sys.executable, HERE / "drive.py", program.work, f"script:{script}"]
    ran = subprocess.run(command, capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["failed"] == "AgentAuthenticationError"
    version, first, second, *_ = result["commands"]
    assert version.endswith("agentcli --version")
    assert "Task:\n/etc is not a command" in first
    assert "agentcli resume --last -p -" in second
    assert "--max-turns 9 --max-time 600.5 --append-system-prompt 'Be brief.'" in first
    assert [command for command in result["commands"] if "'agentcli[openai]==9.9.9'" in command]
    assert result["context"]["n_input_tokens"] > 0
    trajectory = json.loads((program.work / "logs" / "trajectory.json").read_text())
    assert list(problems(trajectory)) == []
    asked = [step["message"] for step in trajectory["steps"] if step["source"] == "user"]
    assert "nothing was changed" in asked[1], "a task left undone is a result, and no error of the run"
    assert (len(asked), asked[2].endswith("And now the rest")) == (4, True)

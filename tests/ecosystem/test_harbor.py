"""Harbor, installed from PyPI: its models read our trajectories, and its jobs run our agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentcli.extras.exporters.atif.document import ImageFolder, subagents_in, to_atif
from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import ROOT
from tests.ecosystem.software import installed_python, python_package
from tests.loopback import Asked, Loopback
from tests.loopback.plan import Refuse
from tests.sessions.corpus import sessions

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Harbor and agentcli, or that of `$AGENTCLI_TEST_HARBOR`."""
    if ready := os.environ.get("AGENTCLI_TEST_HARBOR"):
        return Path(ready)
    folder = tmp_path_factory.mktemp("harbor")
    return python_package("harbor", str(ROOT), folder=folder, python=installed_python(12, 17)) / "python"


def test_its_models_read_the_trajectory_of_every_session_there_is(python: Path, tmp_path: Path) -> None:
    files = []
    for name, store, info in sessions(tmp_path):
        session = store.open(info.project_id, info.id, read_only=True)
        files.append(tmp_path / f"{name}.json")
        place = ImageFolder(tmp_path / f"{name}.images")
        files[-1].write_text("".join(to_atif(session, subagents_in(store, info), place=place)))
    checked = subprocess.run([python, HERE / "trajectories.py", *files], capture_output=True, text=True)
    assert checked.stderr == ""
    assert checked.stdout.split() == [file.name for file in files]


TASK = """
schema_version = "1.1"
[agent]
timeout_sec = 120.0
[verifier]
timeout_sec = 60.0
[environment]
"""
TEST = "#!/bin/bash\ngrep -q hello /app/greeting.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """The folder of a job, with a task that is solved by a file with a greeting."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    for name, text in {
        "task.toml": TASK,
        "instruction.md": "Write hello into greeting.txt",
        "tests/test.sh": TEST,
        "environment/Dockerfile": "FROM scratch\n",
    }.items():
        path = tmp_path / "task" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


def solve(asked: Asked) -> Reply:
    if "greeting.txt" in str(asked.turns[-1]) and asked.turns[-1]["role"] == "user" and len(asked.turns) < 2:
        return say("I write it.", call("bash", "c1", command="echo hello > greeting.txt && pwd"))
    return say("Done.")


def job(python: Path, folder: Path, env: Mapping[str, str], model: str = "anthropic/claude-sonnet-4-5") -> list[Any]:
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "HARBOR_TELEMETRY": "off", "PYTHONPATH": str(HERE)}
    command = [python, HERE / "harbor_job.py", folder, model]
    ran = subprocess.run(command, capture_output=True, text=True, env={**kept, **env}, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-3000:]
    results: list[Any] = json.loads(ran.stdout.strip().rsplit("\n", 1)[-1])
    return results


def test_a_job_ends_with_a_reward_tokens_a_cost_and_a_trajectory(python: Path, task: Path) -> None:
    with Loopback(solve) as server:
        results = job(python, task, {**server.env, "ATTEMPTS": "2"})
    assert [result["verifier_result"]["rewards"]["reward"] for result in results] == [1.0, 1.0]
    for result in results:
        spent = result["agent_result"]
        assert result["exception_info"] is None
        assert (result["agent_info"]["name"], result["agent_info"]["version"].count(".")) == ("agentcli", 2)
        assert min(spent["n_input_tokens"], spent["n_output_tokens"], spent["cost_usd"]) > 0
    trajectories = sorted(task.glob("jobs/job/*/agent/trajectory.json"))
    assert len(trajectories) == 2
    subprocess.run([python, HERE / "trajectories.py", *trajectories], check=True)
    assert "greeting.txt" in trajectories[0].read_text()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "AgentAuthenticationError"), (0, "AgentAuthenticationError")],
    ids=["a key that is refused", "no key"],
)
def test_a_key_that_is_missing_or_refused_is_an_error_of_authentication(
    python: Path, task: Path, status: int, kind: str
) -> None:
    def refuse(asked: Asked) -> Refuse:
        return Refuse(status)

    with Loopback(refuse) as server:
        (result,) = job(python, task, server.env if status else {})
    assert result["exception_info"]["exception_type"] == kind


def test_the_ways_in_which_a_run_ends_are_errors_that_harbor_knows(python: Path) -> None:
    ran = subprocess.run([python, HERE / "harbor_errors.py"], capture_output=True, text=True)
    assert json.loads(ran.stdout) == {
        "1": "NonZeroAgentExitCodeError",
        "refused": "AgentSafetyRefusalError",
        "no credit": "ApiUsageLimitError",
        "41": "AgentAuthenticationError",
        "42": "NonZeroAgentExitCodeError",
        "53": "LimitReachedError",
        "54": "ContextWindowExceededError",
        "75 rate": "ApiRateLimitError",
        "75 network": "NetworkConnectionError",
        "75": "ApiOverloadedError",
        "no result": "NetworkConnectionError",
        "model": "google/gemini-3.8-flash",
    }

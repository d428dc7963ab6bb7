"""Inspect AI, installed from PyPI: its reader reads our logs, and its tasks run with our solver."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bench.tiny_set import model, tasks
from tests.e2e.program import ROOT, Program
from tests.ecosystem.software import python_package

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Inspect and agentcli, or that of `$AGENTCLI_TEST_INSPECT`."""
    if ready := os.environ.get("AGENTCLI_TEST_INSPECT"):
        return Path(ready)
    return python_package("inspect_ai", str(ROOT), folder=tmp_path_factory.mktemp("inspect")) / "python"


def read(python: Path, *logs: Path) -> list[Any]:
    ran = subprocess.run([python, HERE / "inspect_reading.py", *logs], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: list[Any] = json.loads(ran.stdout)
    return found


def test_its_reader_reads_the_logs_of_a_run(python: Path, program: Program) -> None:
    program.more = {**program.more, "PYTHONPATH": str(ROOT)}
    folder = tasks(program.base / "set", 3)
    names = [
        word
        for name, rule in (("all", "true"), ("one", "[ $n = 1 ]"))
        for word in ("-m", model(program.base, name, rule))
    ]
    program.run("bench", str(folder), *names, "--repeat", "2", "--unboxed", "-j", "2", seconds=400)
    written = program.run("bench", "export", "LAST", "-o", str(program.base / "logs"))
    assert written.code == 0, written.err
    logs = [Path(line) for line in written.out.split()]
    first, second = read(python, *logs)
    assert (first["status"], first["metrics"]["accuracy"], second["metrics"]["accuracy"]) == ("success", 1, 1 / 3)
    assert second["metrics"]["wilson_low"] == pytest.approx(0.0968, abs=1e-4)
    assert [(each["id"], each["epoch"]) for each in second["samples"]] == [
        (f"t{number:02}", epoch) for epoch in (1, 2) for number in range(3)
    ]
    assert [each["scores"]["check"] for each in second["samples"]] == ["I", "C", "I"] * 2
    for sample in (*first["samples"], *second["samples"]):
        assert sample["roles"] == ["user", "assistant", "tool", "assistant"]
        assert sample["events"] == ["model", "tool", "model"]
        assert (sample["completion"], sample["tokens"] > 0) == ("Done.", True)
    assert second["samples"][0]["metadata"]["cause"] == "model's mistake"
    listed = subprocess.run(
        [python.parent / "inspect", "list", "logs", "--log-dir", program.base / "logs"], capture_output=True, text=True
    )
    assert all(path.name in listed.stdout for path in logs)


def test_a_task_of_its_form_runs_with_agentcli_as_the_solver(python: Path, tmp_path: Path) -> None:
    call = {"name": "bash", "input": {"command": "echo hello > greeting.txt"}}
    (tmp_path / "m.json").write_text(
        json.dumps({"replies": [{"text": "I write.", "calls": [call]}, {"text": "Done."}]})
    )
    options = {"model": f"script:{tmp_path}/m.json", "program": f"{python.parent}/agentcli"}
    words = [word for name, value in options.items() for word in ("-S", f"{name}={value}")]
    (tmp_path / "inspect_task.py").write_text((HERE / "inspect_task.py").read_text())
    command = [python.parent / "inspect", "eval", "inspect_task.py", "--solver", "agentcli/agentcli", "--model", "none"]
    more = [*words, "--display", "plain", "--log-dir", "logs", "--log-format", "json"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run([*command, *more], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    [log] = read(python, *(tmp_path / "logs").glob("*.json"))
    assert (log["status"], log["metrics"]["accuracy"]) == ("success", 0.5)
    assert {each["id"]: each["scores"]["wrote"] for each in log["samples"]} == {"hello": "C", "goodbye": "I"}
    for sample in log["samples"]:
        # The last reply is asked for once more, since files changed.
        assert sample["roles"] == ["user", "assistant", "tool", "assistant", "assistant"]
        assert sample["completion"] == "Done."
        assert sample["metadata"]["agentcli"]["usage"]["total_tokens"] > 0


def test_a_sample_without_a_model_is_an_error_that_says_so(python: Path, tmp_path: Path) -> None:
    (tmp_path / "inspect_task.py").write_text((HERE / "inspect_task.py").read_text())
    command = [python.parent / "inspect", "eval", "inspect_task.py", "--solver", "agentcli/agentcli", "--model", "none"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run([*command, "--display", "plain"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "Name the model of agentcli" in ran.stdout + ran.stderr

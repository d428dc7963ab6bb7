"""A batch as a function."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

import agentcli
from tests.frontends.python.embedded import calls, environment, script, workspace


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit; the process has a home of its own."""
    folder = workspace(tmp_path)
    (folder / "a.txt").write_text("one\n")
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=folder, check=True, capture_output=True)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
    return folder


@pytest.mark.full
def test_tasks_are_done_and_reported(tmp_path: Path, repository: Path) -> None:
    model = script(tmp_path, calls("bash", command="echo new > new.txt"), "Done.")
    seen: list[agentcli.BatchTask] = []
    tasks: list[dict[str, Any]] = [{"id": "t", "prompt": "do it", "repo": repository, "check": "test -f new.txt"}]
    done = asyncio.run(
        agentcli.run_batch(tasks, tmp_path / "out", model=model, unboxed=True, on_task=seen.append, workers=1)
    )
    [task] = done.tasks
    assert (done.exit_code, task.state, task.text, task.check) == (0, "passed", "Done.", 0)
    assert task.commit
    assert seen == [task]
    again = asyncio.run(agentcli.run_batch(tasks, tmp_path / "out", model=model, unboxed=True))
    assert again.tasks == done.tasks


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        ({"worker": 3}, 2, "Did you mean workers"),
        ({"attempts": 2}, 2, "attempts needs a check"),
        ({"only": "other"}, 42, "Unknown task 'other'"),
        ({"model": "sonnet"}, 41, "key"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(
    wrong: dict[str, Any], code: int, message: str, tmp_path: Path, repository: Path
) -> None:
    tasks = [{"id": "t", "prompt": "do it", "repo": str(repository)}]
    given = {"model": script(tmp_path, "done"), "unboxed": True, **wrong}
    with pytest.raises(agentcli.AgentError, match=message) as caught:
        asyncio.run(agentcli.run_batch(tasks, tmp_path / "out", **given))
    assert caught.value.exit_code == code
    assert not (tmp_path / "out").exists()


@pytest.mark.full
def test_a_folder_of_any_name_holds_a_batch(tmp_path: Path, repository: Path) -> None:
    tasks = [{"id": "t", "prompt": "do it", "repo": repository}]
    model = script(tmp_path, "Done.")
    done = asyncio.run(agentcli.run_batch(tasks, tmp_path / "_out", model=model, unboxed=True))
    assert [(task.state, task.error) for task in done.tasks] == [("passed", "")]

"""Results of a batch as predictions for the harness of SWE-bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.extras.batch.ledger import Ledger, Row
from agentcli.extras.batch.results import load, predictions

PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a batch: one task has passed, one has failed, one runs, one was never started."""
    tasks = {id: {"digest": "", "repo": str(tmp_path), "base": ""} for id in ("ok-1", "bad-2", "runs-3", "new-4")}
    (tmp_path / "batch.json").write_text(json.dumps({"name": "b", "options": {}, "tasks": tasks}))
    ledger = Ledger(tmp_path)
    for id, state in (("ok-1", "passed"), ("bad-2", "failed"), ("runs-3", "running")):
        ledger.write(Row(id, 1, "t", state))  # type: ignore[arg-type]
        folder = tmp_path / "tasks" / id / "1-t"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text(json.dumps({"type": "init", "model": "anthropic/opus"}) + "\n{")
    (tmp_path / "tasks" / "ok-1" / "1-t" / "patch.diff").write_text(PATCH)
    return tmp_path


def test_each_finished_task_is_a_prediction_with_its_patch_and_model(out: Path) -> None:
    assert list(predictions(load(out))) == [
        {"instance_id": "ok-1", "model_name_or_path": "anthropic/opus", "model_patch": PATCH},
        {"instance_id": "bad-2", "model_name_or_path": "anthropic/opus", "model_patch": ""},
    ]


def test_a_run_that_never_began_has_the_name_of_the_program(out: Path) -> None:
    (out / "tasks" / "ok-1" / "1-t" / "events.jsonl").write_text("torn")
    assert next(iter(predictions(load(out))))["model_name_or_path"] == "agentcli"

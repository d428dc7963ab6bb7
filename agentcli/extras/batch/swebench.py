"""Results of a batch as predictions for the harness of SWE-bench."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentcli.extras.batch.ledger import FINAL
from agentcli.extras.batch.results import Batch
from agentcli.extras.batch.work import folder_of
from agentcli.system import probe


def predictions(batch: Batch) -> Iterator[Mapping[str, str]]:
    """Yield a line for each task in a final state, with its id as instance id. The patch of a failed task counts, too."""
    for id in batch.tasks:
        state = batch.states.get(id)
        if state is None or state.state not in FINAL:
            continue
        folder = folder_of(batch.out, id, state.newest.attempt, state.newest.token)
        patch = folder / "patch.diff"
        yield {
            "instance_id": id,
            "model_name_or_path": _model(folder / "events.jsonl"),
            "model_patch": patch.read_text(encoding="utf-8", errors="replace") if probe.is_file(patch) else "",
        }


def _model(events: Path) -> str:
    """Return the model of a run, from the first event of its stream."""
    if probe.is_file(events):
        with events.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("{") and (event := json.loads(line)).get("type") == "init":
                    return str(event.get("model") or "agentcli")
    return "agentcli"

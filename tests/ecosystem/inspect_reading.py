"""Runs in Inspect's Python: print what its reader finds in logs, as JSON."""

from __future__ import annotations

import json
import sys

from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]

found = []
for path in sys.argv[1:]:
    log = read_eval_log(path)
    assert log.results is not None
    metrics = {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}
    samples = [
        {
            "id": sample.id,
            "epoch": sample.epoch,
            "scores": {name: score.value for name, score in (sample.scores or {}).items()},
            "roles": [message.role for message in sample.messages],
            "events": [event.event for event in sample.events],
            "completion": sample.output.completion,
            "tokens": sum(usage.total_tokens for usage in sample.model_usage.values()),
            "metadata": sample.metadata,
        }
        for sample in log.samples or []
    ]
    found.append({"status": log.status, "model": log.eval.model, "metrics": metrics, "samples": samples})
print(json.dumps(found))

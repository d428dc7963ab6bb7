"""Runs of a set as logs of Inspect AI, one for each variant: https://inspect.aisi.org.uk/eval-logs.html."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.extras.batch.agent_process import EVENTS
from agentcli.extras.batch.comparison import Run, Side
from agentcli.extras.batch.ledger import TaskState
from agentcli.extras.batch.results import Batch, load
from agentcli.extras.bench.causes import words_of_check
from agentcli.extras.bench.results import Result, ids_by_side, measured
from agentcli.extras.harnesses.inspect_ai.transcript import Json, Transcript, transcript, usage
from agentcli.sessions.exporting.transcript import cleaned
from agentcli.system.paths import replace_file

_VERSION = 2
_SCORER = "check"
_LIMITS = (("time", "time"), ("turn", "turn"), ("token", "token"), ("cost", "cost"))
"""Words in the reason of a limit, with Inspect's name for the limit."""


def write_logs(out: Path, folder: Path, clean: Callable[[str], str] = str) -> Sequence[Path]:
    """Write a log for each variant of the run to `out`; return their paths.

    All texts pass `clean`. Raise InputError if there is no run.
    """
    result, batch = measured(out), load(out)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for side, ids in zip(result.sides, ids_by_side(batch), strict=True):
        log = _log(result, batch, side, ids)
        log = {**log, "samples": cleaned(log["samples"], clean)}
        spec = log["eval"]
        name = f"{spec['created'].replace(':', '-')}_{spec['task']}_{spec['task_id']}.json"
        written.append(folder / name)
        replace_file(written[-1], json.dumps(log, indent=1) + "\n")
    return written


def _log(result: Result, batch: Batch, side: Side, ids: Sequence[str]) -> Json:
    ended = [(id, run) for id, run in zip(ids, side.runs, strict=True) if run.ended]
    samples = [_sample(batch, id, run) for id, run in ended]
    model = next((model for sample in samples if (model := sample["output"]["model"])), side.name)
    times = [batch.states[id].newest.t for id, _ in ended]
    began = min((time - run.seconds for time, (_, run) in zip(times, ended, strict=True)), default=0.0)
    return {
        "version": _VERSION,
        "status": "success" if len(ended) == len(side.runs) else "cancelled",
        "eval": _eval(result, batch, side, model, began),
        "plan": {"name": "plan", "steps": [{"solver": "agentcli", "params": {}}], "config": {}},
        "results": _results(side),
        "stats": {
            "started_at": _time(began),
            "completed_at": _time(max(times, default=0.0)),
            "model_usage": {model: _sum(sample["model_usage"].get(model, {}) for sample in samples)},
        },
        "samples": samples,
    }


def _eval(result: Result, batch: Batch, side: Side, model: str, began: float) -> Json:
    task = Path(result.set).name
    digest = hashlib.sha256(f"{batch.out.resolve()} {side.name}".encode()).hexdigest()
    return {
        "eval_id": digest[:22],
        "run_id": digest[22:44],
        "task_id": digest[44:],
        "created": _time(began),
        "task": task,
        "task_display_name": f"{task} {side.name}",
        "dataset": {"name": task, "samples": len(result.tasks), "sample_ids": list(result.tasks)},
        "model": model,
        "solver": "agentcli",
        "config": {"epochs": max((run.repeat for run in side.runs), default=1)},
        "packages": {"agentcli": __version__},
        "metadata": {"variant": side.name},
        "scorers": [{"name": _SCORER, "options": {}, "metrics": [], "metadata": {}}],
    }


def _results(side: Side) -> Json:
    count, rate = len(side.ended), side.rate
    spread = sqrt(rate.value * (1 - rate.value) / (count - 1)) if count > 1 else 0.0
    values = {"accuracy": rate.value, "stderr": spread, "wilson_low": rate.low, "wilson_high": rate.high}
    metrics = {name: {"name": name, "value": value, "params": {}} for name, value in values.items()}
    score = {"name": _SCORER, "scorer": _SCORER, "scored_samples": count, "params": {}, "metrics": metrics}
    return {"total_samples": len(side.runs), "completed_samples": count, "scores": [score]}


def _sample(batch: Batch, id: str, run: Run) -> Json:
    cause = run.cause
    state = batch.states[id]
    row = state.newest
    done = transcript(_lines(batch, id, state))
    words = words_of_check(batch.out / "tasks" / id / f"{row.attempt}-{row.token}")
    about = {"id": id, "state": row.state, "session": row.session, "why": row.why, "cause": cause, "commit": row.commit}
    score = {"value": "C" if run.passed else "I", "answer": row.text, "explanation": words or row.why or None}
    spent = usage(row.usage, state.cost)
    model = done.model
    return {
        "id": run.task,
        "epoch": run.repeat,
        "input": done.prompt,
        "target": "",
        "messages": done.messages,
        "output": done.output,
        "scores": {_SCORER: {**score, "metadata": {"cause": cause} if cause else {}}},
        "metadata": {name: value for name, value in about.items() if value},
        "store": {},
        "events": done.events,
        "model_usage": {model: spent} if model else {},
        "started_at": _time(row.t - run.seconds),
        "completed_at": _time(row.t),
        "total_time": run.seconds,
        "working_time": run.seconds,
        "uuid": hashlib.sha256(f"{batch.out.resolve()} {id}".encode()).hexdigest()[:22],
        "attachments": {},
        **_limit(row.state, done, row.why),
    }


def _lines(batch: Batch, id: str, state: TaskState) -> Iterator[str]:
    """Yield the event lines of all starts of the counting attempt, the oldest start first."""
    files = (batch.out / "tasks" / id).glob(f"{state.newest.attempt}-*/{EVENTS}")
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield from lines


def _limit(state: str, done: Transcript, why: str) -> Json:
    if state != "limited":
        return {}
    reason = str(done.result.get("error") or why)
    kind = next((name for word, name in _LIMITS if word in reason.lower()), "custom")
    return {"limit": {"type": kind, "limit": 0.0, "reason": reason}}


def _sum(usages: Iterator[Mapping[str, Any]]) -> Json:
    found: Json = usage({}, 0.0)
    for each in usages:
        for name, value in each.items():
            found[name] = found.get(name, 0) + value
    return found


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

"""A clock that is set while the program runs, by whoever: times stay sane, and nothing hangs or runs out."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.leaping_clock import LEAPS
from tests.e2e.program import ROOT, Program

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.full
@pytest.mark.parametrize(
    "direction",
    [pytest.param(each, marks=[pytest.mark.slow] if each != "to-and-fro" else []) for each in LEAPS],
)
def test_a_clock_that_leaps_within_a_run_costs_nothing(tmp_path: Path, direction: str) -> None:
    program = Program(tmp_path, {"PYTHONPATH": str(ROOT)}, ("-m", "tests.e2e.leaping_clock", direction))
    script = tmp_path / "script.json"
    calls = [{"name": "bash", "input": {"command": f"sleep 0.0{n}; echo {n}"}} for n in range(1, 4)]
    busy = {"text": "never", "fault": {"cause": "overloaded", "message": "Busy.", "retry_after": 0.01}}
    replies = [*({"calls": [call]} for call in calls), busy, {"text": "done"}]
    script.write_text(json.dumps({"replies": replies}))
    limits = ["--max-time", "100", "--mode", "yolo", "-m", f"script:{script}"]
    first = program.ask("-p", "one", *limits)
    again = program.ask("resume", "--last", "-p", "two", *limits)
    for ran in (first, again):
        assert (ran.code, ran.result["text"]) == (0, "done"), ran.err
        assert 0 <= ran.result["duration_ms"] < 60_000
    records = program.records()
    results = [record for record in records if record["kind"] == "tool_result"]
    assert [result["output"].split()[0] for result in results] == ["1", "2", "3"] * 2
    assert all(0 <= result["time"]["end"] - result["time"]["start"] < 60 for result in results)
    times = [record["time"] for record in records]
    assert all(STAMP.fullmatch(time["recorded"] if isinstance(time, dict) else time) for time in times)
    assert all(one["seq"] + 1 == next["seq"] for one, next in pairwise(records))
    [session] = json.loads(program.run("sessions", "list", "--json").out)
    assert all(STAMP.fullmatch(session["time"][name]) for name in ("created", "updated"))
    assert program.run("sessions", "check").code == 0

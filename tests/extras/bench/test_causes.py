"""Causes of failures, from events that are written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentcli.extras.batch.ledger import Row
from agentcli.extras.bench.causes import MISTAKE, cause_of
from tests.tables import each_row


def call(name: str = "read", **given: str) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "input": given}


def failed(output: str, status: str = "error") -> dict[str, Any]:
    return {"type": "tool_result", "status": status, "output": output}


def ended(text: str = "Done.", **more: object) -> dict[str, Any]:
    return {"type": "result", "text": text, **more}


MISSING = [each for n in range(3) for each in (call(file_path=f"a{n}"), failed("No such file or directory"))]


@each_row(
    ("cause", "events", "row"),
    [
        (MISTAKE, [call(), ended()], {}),
        (MISTAKE, [call(), call(), call("bash"), call(), ended("I will not do more. It is done.")], {}),
        (MISTAKE, [*MISSING[:4], ended()], {}),
        ("repeated", [call(file_path="a")] * 3, {}),
        ("promised", [ended("The bug is in a.py. Now let me repair it:")], {}),
        ("promised", [ended("I'll run the tests")], {}),
        ("wrong path", [*MISSING, ended()], {}),
        ("denied", [call(), failed("no", "denied"), ended()], {}),
        ("denied", [ended(permission_denials=[{"name": "bash"}])], {}),
        ("timeout", [ended(subtype="limit", error="The limit of time, 900 s, was reached.")], {"state": "limited"}),
        ("limit", [ended(subtype="limit", error="40 turns")], {"state": "limited"}),
        ("context", [ended(error="It cannot be made to fit.")], {"exit": 54}),
        ("ended with 1", [ended()], {"exit": 1}),
    ],
)
def test_a_failure_has_the_cause_of_the_first_rule_that_fits(
    cause: str, events: list[dict[str, Any]], row: dict[str, Any], tmp_path: Path
) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (tmp_path / "events.jsonl").write_text(lines + '{"type": "tool_')
    assert cause_of(Row("t", 1, "x", **{"state": "failed", "exit": 0, **row}), tmp_path) == cause


def test_a_run_without_events_is_no_error(tmp_path: Path) -> None:
    assert cause_of(Row("t", 1, "x", "failed", exit=0), tmp_path) == MISTAKE


def test_a_check_that_ends_without_a_verdict_is_named(tmp_path: Path) -> None:
    row = Row("t", 1, "x", "failed", exit=0, check=1)
    (tmp_path / "check.txt").write_text("Traceback (most recent call last):")
    assert cause_of(row, tmp_path) == "check broke"
    (tmp_path / "check.txt").write_text("refused: another number")
    assert cause_of(row, tmp_path) == MISTAKE

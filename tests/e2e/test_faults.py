"""Hundreds of faults through the whole program: right exit codes, a result last, nothing cut ever runs, and the session goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.faults import CONTENT, MODELS, Fault, faults
from tests.e2e.program import Program, Ran
from tests.loopback import Asked, Loopback
from tests.loopback.server import KEY

PROMPT = "tell what the secret plan says"
QUICK = (
    "--mode",
    "yolo",
    "--set",
    "retry.first=0.001",
    "--set",
    "retry.longest=0.002",
    "--set",
    "retry.attempts=5",
    "--set",
    "retry.patience=60",
)
ATTEMPTS = 5


def cases() -> Iterator[Any]:
    """Every hundredth always, all of them when there is time."""
    for wire in MODELS:
        for number, fault in enumerate(faults(wire)):
            marks = [pytest.mark.slow] if number % 100 else []
            yield pytest.param(wire, fault, marks=marks, id=f"{wire}-{fault.name[:70]}")


@pytest.mark.parametrize(("wire", "fault"), list(cases()))
def test_a_fault_costs_nothing_but_itself(tmp_path: Path, wire: str, fault: Fault) -> None:
    program = Program(tmp_path)

    back = False

    def answer(asked: Asked) -> Any:
        if back:
            return say("back again")
        number = len([one for one in server.requests if one is not asked])
        if number < len(fault.answers):
            return fault.answers[number]
        return fault.answers[-1] if fault.always else say("fine")

    with Loopback(answer, strict=False) as server:
        program.more = server.env
        ran = program.ask("-p", PROMPT, "-m", MODELS[wire], *QUICK, *_options(wire, fault))
        count = len(server.requests)
        _ended_well(ran, fault, count)
        victim = program.work / "victim.txt"
        assert victim.exists() == fault.runs or victim.read_text() == "x" * 3_000_000
        assert not fault.runs or victim.read_text() == CONTENT
        _is_valid(program.records())
        _keeps_quiet(program, ran)
        back, server.strict = True, fault.back
        again = program.run("resume", "--last", "-p", "still there?", "-o", "json")
        assert again.code == 0, (again.out, again.err)
        assert json.loads(again.out)["text"] == "back again"
        assert len(server.requests) - count <= 2, "what was signed by nobody is mended once"
        assert not server.requests[-1].refused


def _options(wire: str, fault: Fault) -> Iterator[str]:
    if "idle" in fault.settings:
        yield from (
            "--set",
            f"providers.{wire}.kind={wire}",
            "--set",
            f"providers.{wire}.idle_timeout={fault.settings['idle']}",
        )
    if "turns" in fault.settings:
        yield from ("--max-turns", fault.settings["turns"])


def _ended_well(ran: Ran, fault: Fault, asked: int) -> None:
    assert "Traceback" not in ran.err, ran.err
    assert "Exception" not in ran.err, ran.err
    assert ran.code == fault.code, (ran.code, ran.result, ran.err)
    assert (ran.result["exit_code"], ran.result["status"]) == (ran.code, "success" if ran.code == 0 else "error")
    assert [line["type"] for line in ran.lines].count("result") == 1
    assert fault.asked in (None, asked), (asked, ran.result)
    assert fault.text in (None, ran.result["text"]), ran.result
    assert not (ran.result["error"] or "").endswith((" ", ":"))
    if fault.code:
        assert len(ran.result["error"] or "x") < 700
    assert len(ran.of("retry")) <= ATTEMPTS - 1


def _is_valid(records: list[dict[str, Any]]) -> None:
    """No empty reply stands, each call has one result, each retry its record."""
    calls, results = [], []
    for record in records:
        if record["kind"] == "message" and record["role"] == "assistant":
            said = [
                p for p in record["parts"] if p["type"] == "tool_call" or (p["type"] == "text" and p["text"].strip())
            ]
            assert said, record
            calls += [p["call_id"] for p in record["parts"] if p["type"] == "tool_call"]
        if record["kind"] == "tool_result":
            results.append(record["call_id"])
    assert sorted(calls) == sorted(results)
    assert len(set(calls)) == len(calls)


def _keeps_quiet(program: Program, ran: Ran) -> None:
    logs = [path.read_text() for path in (program.base / "state").rglob("*.log*")]
    for text in (ran.out, ran.err, *logs):
        assert KEY not in text
    for text in (ran.err, *logs):
        assert PROMPT not in text

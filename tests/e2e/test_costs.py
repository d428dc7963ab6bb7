"""Costs as people ask for them: `/cost` in the terminal and headless, `agentcli stats` with its sums, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program

HIT = {"input": 10, "output": 100, "cache_read": 50_000, "cache_write": 1_000}
MISS = {"input": 10, "output": 100, "cache_read": 0, "cache_write": 90_000}
READ = {"name": "bash", "input": {"command": "seq 1 9000"}}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.config(
        f'[agent]\ntitles = false\n[models."script/{tmp_path}/script.json"]\n'
        "prices = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }\n"
    )
    return program


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, ...]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies, "then": "fail"}))
    return ("-m", f"script:{file}", "--mode", "yolo")


@pytest.mark.full
def test_a_costly_turn_is_told_in_a_line_and_cost_explains_it(program: Program) -> None:
    usual = [{"text": f"Answer {n}.", "usage": HIT} for n in range(4)]
    with program.terminal(*script(program, *usual, {"text": "Answer 4.", "usage": MISS}), columns=150) as t:
        t.until("? keys")
        for n in range(5):
            t.send(f"question {n}\r", until=f"Answer {n}.")
            t.settle()
        t.until("This turn cost $0.3390, usual is $0.0203")
        t.send("/cost\r", until="Turn 5, $0.3390 in 1 request:")
        t.until("sent again in full, 51,000 tokens", "costliest turns before")
        t.send("/cost 2\r", until="Turn 2, $0.0203 in 1 request:")
        t.send("/cost nine\r", until="Use /usage turn or /usage turn NUMBER.")
        assert sum("This turn cost" in row for row in t.history()) == 1


def test_headless_cost_is_a_report_and_stats_sum_up_by_tool(program: Program) -> None:
    work = script(program, {"calls": [READ], "usage": MISS}, {"text": "Done.", "usage": {**HIT, "cache_write": 20_000}})
    assert program.run("-p", "count", *work).code == 0
    told = program.run("-c", "-p", "/cost", *work)
    assert told.code == 0
    assert "Turn 1, $" in told.out
    assert "large output, " in told.out
    rows = list(csv.DictReader(io.StringIO(program.run("stats", "--by", "tool", "--csv").out)))
    assert rows[0].keys() == {"tool", "requests", "input", "cache_write", "cache_read", "output", "cost"}
    by_tool = {row["tool"]: row for row in rows}
    assert int(by_tool["bash"]["requests"]) == 1
    assert float(by_tool["bash"]["cost"]) > 0
    (info,) = program.sessions.glob("*/*/session.json")
    whole = json.loads(info.read_text())["cost"]
    assert sum(float(row["cost"]) for row in rows) == pytest.approx(whole, abs=1e-4)
    for kind in ("day", "project", "model"):
        found = json.loads(program.run("stats", "--by", kind, "--json").out)
        assert found["total"]["cost"] == pytest.approx(whole, abs=1e-5)
        assert len(found["rows"]) == 1
    assert str(program.work) in program.run("stats", "--by", "project").out


@pytest.mark.full
def test_wrong_questions_are_usage_errors(program: Program) -> None:
    assert program.run("stats", "--by", "hour").code == 2
    assert program.run("stats", "--since", "yesterday").code == 2
    assert program.run("stats", "--csv", "--json").code == 2
    assert program.run("stats", "what-if", "x").code == 2
    assert program.run("stats", "what-if", "x", "-m", "haiku").code == 42
    told = program.run("-p", "/cost 7", *script(program, {"text": "x"}))
    assert (told.code, told.out) == (2, "")


def test_without_anything_spent_it_says_so(program: Program) -> None:
    assert program.run("stats", "--by", "day").out == "Nothing spent yet.\n"
    assert program.run("stats").out == "No sessions. See `agentcli help sessions`.\n"


@pytest.mark.full
def test_the_tier_of_a_reply_decides_its_cost_and_one_without_a_price_is_named_once(program: Program) -> None:
    flex = {**HIT, "tier": "flex"}
    steps = [{"calls": [{"name": "bash", "input": {"command": f"echo {n}"}}], "usage": flex} for n in range(2)]
    work = script(program, *steps, {"text": "Done.", "usage": HIT})
    price = 0.02028
    told = program.run("-p", "count", "-o", "json", *work)
    assert json.loads(told.out)["cost"] == pytest.approx(3 * price)
    assert told.err.count("in the tier flex, whose price is not known") == 1
    table = f"models.script/{program.base}/script.json.tiers.flex=0.5"
    told = program.run("-p", "count", "-o", "json", "--set", table, *work)
    assert json.loads(told.out)["cost"] == pytest.approx(2 * price)
    assert "price is not known" not in told.err
    (record,) = {
        json.loads(file.read_text())["usage"]["tier"] for file in program.sessions.glob("*/*/records/*3-message.json")
    }
    assert record == "flex"

"""A long session in a small window: each compaction frees much, nothing is lost, and a task costs late what it costs early."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.bench.bench_turns import MODELS
from tests.bench.long_life import prepared
from tests.bench.marathon import WINDOW, Marathon, Spent, report, run, tasks
from tests.tables import each_row


def test_facts_are_planted_once_each() -> None:
    planted = [fact for task in tasks(80) for fact in task.facts]
    assert len(planted) == 200
    assert len({fact.value for fact in planted}) == len({fact.name for fact in planted}) == 200
    assert {fact.where for fact in planted} == {"prompt", "output", "answer"}


def test_a_report_compares_the_first_tenth_with_the_last() -> None:
    result = Marathon([Spent(2, 100, 0.1, 0.5, 10**6), Spent(2, 300, 0.3, 0.5, 10**6)], [0.5], [10], [10])
    assert [each.tokens for each in result.tenth(True)] == [300]
    assert "first tenth: $0.1000 a task" in "\n".join(report(result))


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_row("wire", ["anthropic", "google"])
def test_forty_tasks_lose_nothing_and_cost_the_same_in_the_end(wire: str, tmp_path: Path) -> None:
    result = asyncio.run(run(prepared(tmp_path, MODELS[wire], WINDOW), MODELS[wire], 40))
    assert result.lost == []
    assert len(result.freed) > 8
    assert min(result.freed) >= 0.4
    half = result.spent[len(result.spent) // 2 :]
    before = result.spent[len(result.spent) // 4 : len(result.spent) // 2]
    assert sum(each.cost for each in half) / len(half) <= 1.15 * sum(each.cost for each in before) / len(before)

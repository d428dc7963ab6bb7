"""A long life leaves nothing behind: no handle, thread or task more, and no more memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.bench.bench_turns import MODELS
from tests.bench.long_life import Count, Orders, Script, counted, live, prepared
from tests.loopback import Loopback
from tests.tables import each_row

SMALL = 36_000
"""Tokens of a window in which a compaction comes every dozen turns."""


@pytest.mark.slow
def test_compactions_leave_no_handle_no_task_and_no_thread_behind(tmp_path: Path) -> None:
    counts: list[Count] = []
    program = prepared(tmp_path, MODELS["anthropic"], SMALL)
    with Loopback(Script(48), strict=False) as server:
        program.more = server.env
        orders = Orders(str(program.work), MODELS["anthropic"], turns=48, every=24)
        asyncio.run(live(orders, counts.append, program.env))
    first, last = counts
    assert last.compactions > first.compactions > 0
    assert (last.handles, last.threads, last.tasks) == (first.handles, first.threads, first.tasks)


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_row("wire", ["anthropic", "google"])
def test_a_process_of_600_turns_takes_no_more_memory_than_one_of_240(wire: str, tmp_path: Path) -> None:
    _, first, *_, last = counted(wire, tmp_path, 600, 120, traced=True)
    assert last.compactions > first.compactions > 0
    assert (last.handles, last.threads, last.tasks) == (first.handles, first.threads, first.tasks)
    assert last.most <= 1.15 * first.most
    assert last.resident <= 1.15 * first.resident

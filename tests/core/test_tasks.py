from __future__ import annotations

import asyncio
import gc

import pytest

from agentcli.core.tasks import run_beside, start_task, watch_task, when_done


async def fails() -> None:
    await asyncio.sleep(0)
    raise RuntimeError("it failed")


async def succeeds() -> str:
    await asyncio.sleep(0)
    return "done"


def test_the_failure_of_a_task_that_nobody_waits_for_is_told() -> None:
    told: list[BaseException] = []

    async def run() -> None:
        run_beside(fails(), told.append)
        gc.collect()  # the event loop alone keeps no task alive
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert [str(error) for error in told] == ["it failed"]


def test_a_failure_is_logged_where_nobody_else_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        await asyncio.wait({run_beside(fails())})
        await asyncio.sleep(0)

    asyncio.run(run())
    assert "RuntimeError: it failed" in caplog.text


def test_the_result_of_a_watched_task_is_handed_on_and_a_cancelled_one_tells_nothing() -> None:
    told: list[object] = []

    async def run() -> None:
        watch_task(start_task(succeeds()), told.append, told.append)
        cancelled = watch_task(start_task(asyncio.sleep(60)), told.append, told.append)
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait({cancelled})
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert told == ["done"]


def test_a_call_at_the_end_of_a_task_can_be_taken_back() -> None:
    called: list[str] = []

    async def run() -> None:
        task = start_task(succeeds())
        when_done(task, lambda: called.append("kept"))
        when_done(task, lambda: called.append("taken back"))()
        assert await task == "done"
        await asyncio.sleep(0)

    asyncio.run(run())
    assert called == ["kept"]

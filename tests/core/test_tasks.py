from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from agentcli.core.streams import closing
from agentcli.core.tasks import (
    LONGEST_RUN,
    emitted,
    run_beside,
    start_task,
    until_interrupted,
    until_set,
    watch_task,
    when_done,
)
from tests.tables import each_row


async def fails() -> None:
    await asyncio.sleep(0)
    raise RuntimeError("it failed")


async def succeeds() -> str:
    await asyncio.sleep(0)
    return "done"


@pytest.mark.full
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


def test_a_call_at_the_end_of_a_future_of_threads_can_be_taken_back() -> None:
    from concurrent.futures import Future

    called: list[str] = []
    future: Future[None] = Future()
    when_done(future, lambda: called.append("kept"))
    when_done(future, lambda: called.append("taken back"))()
    future.set_result(None)
    assert called == ["kept"]


async def endless(ended: list[str]) -> None:
    """Wait until cancelled, and say so."""
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        ended.append("ended")


def test_work_that_ends_by_itself_gives_its_result_or_error() -> None:
    async def run() -> None:
        assert await until_interrupted(asyncio.Event(), succeeds()) == "done"
        assert await until_interrupted(asyncio.Event(), succeeds(), 60) == "done"
        with pytest.raises(RuntimeError, match="it failed"):
            await until_interrupted(asyncio.Event(), fails())
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_work_is_cancelled_by_its_interrupt_and_by_its_time_and_has_ended_then() -> None:
    ended: list[str] = []

    async def run() -> None:
        interrupt = asyncio.Event()
        asyncio.get_running_loop().call_soon(interrupt.set)
        assert await until_interrupted(interrupt, endless(ended)) is None
        assert await until_interrupted(interrupt, endless(ended)) is None, "it was set before"
        assert await until_interrupted(asyncio.Event(), endless(ended), 0) is None
        task = asyncio.current_task()
        assert (asyncio.all_tasks(), task and task.cancelling()) == ({task}, 0)

    asyncio.run(run())
    assert ended == ["ended"] * 3


def test_work_that_ends_with_a_result_although_it_was_cancelled_gives_it() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "saved"
        return ""

    async def run() -> None:
        interrupt, task = asyncio.Event(), asyncio.current_task()
        interrupt.set()
        assert await until_interrupted(interrupt, stubborn()) == "saved"
        assert task
        assert not task.cancelling()

    asyncio.run(run())


def test_a_cancellation_from_elsewhere_is_no_interrupt() -> None:
    ended: list[str] = []

    async def run() -> None:
        work = start_task(until_interrupted(asyncio.Event(), endless(ended)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(run())
    assert ended == ["ended"]


async def numbers(closed: list[int], until: int, wait: asyncio.Event | None = None) -> AsyncIterator[int]:
    """Yield 0, 1, …; then wait, if there is an event; note the number at which the stream is closed."""
    number = 0
    try:
        while number < until:
            yield number
            number += 1
        if wait is not None:
            await wait.wait()
    finally:
        await asyncio.sleep(0)
        closed.append(number)


def test_a_stream_is_read_to_its_end_and_closed() -> None:
    closed: list[int] = []

    async def run() -> None:
        for interrupt in (None, asyncio.Event()):
            assert [value async for value in until_set(interrupt, numbers(closed, 3))] == [0, 1, 2]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert closed == [3, 3]


def test_an_interrupt_ends_a_stream_between_two_values_and_in_a_wait() -> None:
    closed: list[int] = []

    async def run() -> None:
        interrupt = asyncio.Event()
        seen = []
        async for value in until_set(interrupt, numbers(closed, 9)):
            seen.append(value)
            if value == 1:
                interrupt.set()
        assert seen == [0, 1]
        assert [value async for value in until_set(interrupt, numbers(closed, 9))] == []
        later = asyncio.Event()
        asyncio.get_running_loop().call_soon(later.set)
        assert [value async for value in until_set(later, numbers(closed, 2, asyncio.Event()))] == [0, 1]
        task = asyncio.current_task()
        assert (asyncio.all_tasks(), task and task.cancelling()) == ({task}, 0)

    asyncio.run(run())
    assert closed == [1, 2], "a stream that never began has nothing to close"


def test_a_stream_whose_values_are_all_there_lets_other_tasks_run_now_and_then() -> None:
    async def busy() -> AsyncIterator[int]:
        for number in range(3):
            until = time.monotonic() + 1.2 * LONGEST_RUN
            while time.monotonic() < until:
                pass
            yield number

    async def run() -> None:
        ran: list[int] = []
        beside = start_task(succeeds())
        async for number in until_set(None, busy()):
            ran += [number] if beside.done() else []
        assert ran, "the other task ended before the stream did"
        assert await beside == "done"

    asyncio.run(run())


Emits = Callable[[int], Awaitable[None]]


def test_work_that_emits_continues_only_once_the_next_value_is_wanted() -> None:
    steps: list[str] = []

    async def work(emit: Emits) -> None:
        for number in range(3):
            steps.append(f"makes {number}")
            await emit(number)

    async def read() -> None:
        async for value in emitted(work):
            await asyncio.sleep(0)
            steps.append(f"reads {value}")

    asyncio.run(read())
    assert steps == [f"{act} {number}" for number in range(3) for act in ("makes", "reads")]


def test_a_reader_that_leaves_ends_the_work_that_emits_first() -> None:
    ended: list[str] = []

    async def work(emit: Emits) -> None:
        try:
            await emit(1)
        finally:
            await asyncio.sleep(0)
            ended.append("work")

    async def read() -> set[asyncio.Task[Any]]:
        async with closing(emitted(work)) as values:
            async for _ in values:
                break
        ended.append("reader")
        return asyncio.all_tasks()

    assert len(asyncio.run(read())) == 1
    assert ended == ["work", "reader"]


@each_row("error", [ValueError("broken"), asyncio.CancelledError()])
def test_the_error_that_ends_the_work_reaches_the_reader_after_its_values(error: BaseException) -> None:
    seen: list[int] = []

    async def work(emit: Emits) -> None:
        await emit(1)
        raise error

    async def read() -> None:
        async for value in emitted(work):
            seen.append(value)

    with pytest.raises(type(error)):
        asyncio.run(read())
    assert seen == [1]


def test_an_error_of_the_cleaning_up_reaches_the_reader_that_leaves() -> None:
    async def work(emit: Emits) -> None:
        try:
            await emit(1)
        finally:
            raise ValueError("broken")

    async def read() -> None:
        async with closing(emitted(work)) as values:
            async for _ in values:
                break

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(read())

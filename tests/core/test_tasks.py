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
    EndedEarly,
    Watch,
    emitted,
    run_beside,
    start_task,
    until_interrupted,
    until_set,
    watch_task,
    when_done,
)
from tests.clock import seconds_of
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


def test_each_wait_has_its_own_time() -> None:
    async def run() -> str:
        async with Watch(seconds=10) as watch:
            for seconds in (6, 9, 0, 6):
                assert await watch.over(asyncio.sleep(seconds, "done")) == "done"
            await asyncio.sleep(25)
            try:
                return await watch.over(asyncio.sleep(11, "too late"))
            except EndedEarly:
                return "ended"

    assert seconds_of(run()) == (pytest.approx(6 + 9 + 6 + 25 + 10), "ended")


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


# Work and streams go on until an interrupt, and nothing is left running.


async def counting(to: int, closed: list[bool], pause: float = 0.0) -> AsyncIterator[int]:
    try:
        for n in range(to):
            await asyncio.sleep(pause)
            yield n
    finally:
        closed.append(True)


def interrupted_soon() -> asyncio.Event:
    interrupt = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, interrupt.set)
    return interrupt


async def never_waiting() -> AsyncIterator[int]:
    n = 0
    while True:
        n += 1
        yield n


@pytest.mark.parametrize("interruptible", [True, False])
def test_all_values_of_a_stream_come_in_its_order(interruptible: bool) -> None:
    async def run() -> list[int]:
        interrupt = asyncio.Event() if interruptible else None
        return [value async for value in until_set(interrupt, counting(5, []))]

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]


def test_an_interrupt_ends_the_wait_for_a_value_and_closes_the_stream() -> None:
    closed: list[bool] = []

    async def run() -> list[int]:
        interrupt, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.call_later(0.05, interrupt.set)
        values = [value async for value in until_set(interrupt, counting(99, closed, 3600))]
        assert len(asyncio.all_tasks()) == 1
        return values

    assert asyncio.run(run()) == []
    assert closed == [True]


def test_an_interrupt_ends_the_wait_also_where_each_value_is_read_in_a_task_of_its_own() -> None:
    closed: list[bool] = []

    async def waiting_after_one() -> AsyncIterator[int]:
        try:
            yield 0
            await asyncio.sleep(1_000)
        finally:
            closed.append(True)

    async def run() -> tuple[int, int]:
        interrupt = asyncio.Event()
        read = until_set(interrupt, waiting_after_one())
        first = await asyncio.create_task(anext(read))
        asyncio.get_running_loop().call_later(0.01, interrupt.set)
        return first, await asyncio.wait_for(asyncio.create_task(anext(read, -1)), 10)

    assert asyncio.run(run()) == (0, -1)
    assert closed == [True]


def test_an_interrupt_while_a_value_is_looked_at_lets_no_other_one_through() -> None:
    async def run() -> list[int]:
        interrupt, values = asyncio.Event(), []
        async for value in until_set(interrupt, counting(99, [])):
            values.append(value)
            interrupt.set()
            await asyncio.sleep(0.01)
        return values

    assert asyncio.run(run()) == [0]


def test_a_stream_that_never_waits_leaves_other_tasks_their_turn() -> None:
    async def run() -> None:
        interrupt, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.call_later(0.05, interrupt.set)
        async for _ in until_set(interrupt, never_waiting()):
            pass

    asyncio.run(run())


def test_a_stream_that_nobody_reads_on_is_closed_and_leaves_no_task_behind() -> None:
    closed: list[bool] = []

    async def run() -> None:
        read = until_set(asyncio.Event(), counting(99, closed))
        async for _ in read:
            break
        await read.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert closed == [True]


def test_a_reader_that_is_cancelled_while_it_waits_closes_the_stream() -> None:
    closed: list[bool] = []

    async def read(waits: asyncio.Event) -> None:
        waits.set()
        async for _ in until_set(asyncio.Event(), counting(99, closed, 3600)):
            pass

    async def run() -> None:
        waits = asyncio.Event()
        reader = asyncio.create_task(read(waits))
        await waits.wait()
        await asyncio.sleep(0.01)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert closed == [True]


@pytest.mark.parametrize("error", [ValueError("as planned"), TimeoutError("as planned")])
def test_a_failure_of_the_stream_is_raised(error: Exception) -> None:
    async def failing() -> AsyncIterator[str]:
        yield "x"
        raise error

    async def run() -> None:
        async for _ in until_set(asyncio.Event(), failing()):
            pass

    with pytest.raises(type(error), match="as planned"):
        asyncio.run(run())


def test_work_that_needs_no_waiting_is_done_although_the_interrupt_is_set() -> None:
    async def work() -> str:
        return "done"

    async def run() -> str | None:
        interrupt = asyncio.Event()
        interrupt.set()
        return await until_interrupted(interrupt, work())

    assert asyncio.run(run()) == "done"


@pytest.mark.parametrize("by", ["interrupt", "time"])
def test_an_interrupt_or_the_time_ends_work_before_the_wait_returns(by: str) -> None:
    ended: list[str] = []

    async def work() -> str:
        try:
            await asyncio.sleep(1_000)
            return "done"
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    async def run() -> str | None:
        interrupt = interrupted_soon() if by == "interrupt" else asyncio.Event()
        return await until_interrupted(interrupt, work(), 0.01 if by == "time" else None)

    assert asyncio.run(run()) is None
    assert ended == ["ended"]


def test_work_that_has_something_to_hand_back_when_it_is_cancelled_is_heard() -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            return "what there was"
        return "all"

    async def run() -> tuple[str | None, int]:
        found = await until_interrupted(interrupted_soon(), work())
        task = asyncio.current_task()
        return found, task.cancelling() if task else -1

    assert asyncio.run(run()) == ("what there was", 0)


def test_a_cancellation_from_elsewhere_goes_on_also_where_an_interrupt_comes_with_it() -> None:
    async def run(interrupts: bool) -> None:
        interrupt = asyncio.Event()
        waiting = asyncio.create_task(until_interrupted(interrupt, asyncio.sleep(1_000)))
        await asyncio.sleep(0.01)
        if interrupts:
            interrupt.set()
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run(False))
    asyncio.run(run(True))


@pytest.mark.full
def test_a_wait_leaves_nothing_for_a_collection_of_garbage() -> None:
    async def run() -> int:
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                await until_interrupted(asyncio.Event(), asyncio.sleep(0))
                assert [value async for value in until_set(asyncio.Event(), counting(2, []))] == [0, 1]
            return gc.collect()
        finally:
            gc.enable()

    assert asyncio.run(run()) == 0

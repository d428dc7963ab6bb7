"""Work and streams go on until an interrupt, and nothing is left running."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from agentcli.core.tasks import until_interrupted, until_set


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

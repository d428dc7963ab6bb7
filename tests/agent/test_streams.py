"""A stream is read until an interrupt, and nothing is left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentcli.agent.streams import until_set


async def counting(to: int, closed: list[bool], pause: float = 0.0) -> AsyncIterator[int]:
    try:
        for n in range(to):
            await asyncio.sleep(pause)
            yield n
    finally:
        closed.append(True)


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
        await read.aclose()  # type: ignore[attr-defined]
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

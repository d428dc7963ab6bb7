"""Streams are driven together, and none is left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentcli.agent.streams import merge


async def counting(name: str, to: int, closed: list[str], pause: float = 0.0) -> AsyncIterator[str]:
    try:
        for n in range(to):
            await asyncio.sleep(pause)
            yield f"{name}{n}"
    finally:
        closed.append(name)


def test_all_values_of_all_streams_come_each_in_its_order() -> None:
    async def run() -> list[str]:
        return [value async for value in merge(counting("a", 5, []), counting("b", 5, []))]

    values = asyncio.run(run())
    assert [value for value in values if value[0] == "a"] == [f"a{n}" for n in range(5)]
    assert sorted(values) == sorted([*(f"a{n}" for n in range(5)), *(f"b{n}" for n in range(5))])


def test_an_event_ends_it_at_once_and_closes_every_stream() -> None:
    closed: list[str] = []

    async def run() -> float:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.call_later(0.05, stop.set)
        began = loop.time()
        async for _ in merge(counting("a", 99, closed, 10), counting("b", 99, closed, 10), until=stop):
            pass
        assert len(asyncio.all_tasks()) == 1
        return loop.time() - began

    assert asyncio.run(run()) < 5
    assert sorted(closed) == ["a", "b"]


def test_an_abandoned_merge_leaves_no_task_behind() -> None:
    closed: list[str] = []

    async def run() -> None:
        merged = merge(counting("a", 99, closed), counting("b", 99, closed))
        async for _ in merged:
            break
        await merged.aclose()  # type: ignore[attr-defined]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert sorted(closed) == ["a", "b"]


def test_the_first_failure_is_raised_and_ends_the_others() -> None:
    closed: list[str] = []

    async def failing() -> AsyncIterator[str]:
        yield "x"
        raise ValueError("as planned")

    async def run() -> None:
        async for _ in merge(failing(), counting("a", 99, closed, 10)):
            pass

    with pytest.raises(ValueError, match="as planned"):
        asyncio.run(run())
    assert closed == ["a"]

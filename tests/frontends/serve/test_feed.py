"""Events of a shared session: each reader gets each once, in order, with bounded memory."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

from agentcli.frontends.serve.feed import BATCH, BATCH_SIZE, Feed, Item


async def read(feed: Feed, after: str, count: int) -> list[Item]:
    found: list[Item] = []
    async with aclosing(feed.follow(after)) as batches:  # type: ignore[type-var]
        async for batch in batches:
            found += batch
            if len(found) >= count:
                return found
    return found


def numbers(items: list[Item]) -> list[int]:
    return [json.loads(item.data)["n"] for item in items]


def test_a_reader_that_comes_back_continues_where_it_stopped() -> None:
    async def run() -> None:
        feed = Feed()
        feed.touch()
        start = feed.cursor
        for n in range(3 * BATCH):
            feed.add({"n": n})
        first = await read(feed, start, BATCH)
        rest = await read(feed, first[-1].id, 2 * BATCH)
        assert numbers([*first, *rest]) == list(range(3 * BATCH))

    asyncio.run(run())


def test_readers_get_what_is_added_while_they_wait_and_nothing_twice() -> None:
    async def run() -> None:
        feed = Feed()
        feed.touch()
        readers = [asyncio.ensure_future(read(feed, feed.cursor, 1000)) for _ in range(3)]
        for n in range(1000):
            feed.add({"n": n})
            if not n % 7:
                await asyncio.sleep(0)
        for found in await asyncio.gather(*readers):
            assert numbers(found) == list(range(1000))

    asyncio.run(run())


def test_many_readers_cost_the_session_few_batches() -> None:
    async def run() -> int:
        feed, batches = Feed(), 0

        async def follow() -> None:
            nonlocal batches
            found = 0
            async with aclosing(feed.follow()) as given:  # type: ignore[type-var]
                async for batch in given:
                    batches += 1
                    found += len(batch)
                    if found == 500:
                        return

        readers = [asyncio.ensure_future(follow()) for _ in range(50)]
        await asyncio.sleep(0)
        for n in range(500):
            feed.add({"n": n})
            await asyncio.sleep(0)
        await asyncio.gather(*readers)
        return batches

    assert asyncio.run(run()) < 50 * 20


def test_a_reader_that_is_too_slow_is_told_to_reload_and_then_goes_on() -> None:
    async def run() -> None:
        feed = Feed(most=10)
        feed.touch()
        start = feed.cursor
        for n in range(30):
            feed.add({"n": n})
        (reload,) = await read(feed, start, 1)
        assert json.loads(reload.data) == {"type": "reload"}
        feed.add({"n": 30})
        assert numbers(await read(feed, reload.id, 1)) == [30]

    asyncio.run(run())


def test_a_batch_is_the_same_for_all_readers_and_does_not_become_long() -> None:
    async def run() -> None:
        feed = Feed()
        feed.touch()
        start = feed.cursor
        for n in range(40):
            feed.add({"n": n, "text": "x" * 20_000})
        batches = []
        for _ in range(2):
            async with aclosing(feed.follow(start)) as given:  # type: ignore[type-var]
                batches.append(await anext(given))
        assert batches[0] is batches[1]
        assert sum(len(item.data) for item in batches[0][:-1]) < BATCH_SIZE + 1

    asyncio.run(run())


def test_what_arrives_is_gathered_once_for_all_readers_that_wait() -> None:
    async def run() -> None:
        arrived: list[int] = []
        gathered: list[int] = []

        def gather() -> None:
            gathered.append(len(arrived))
            feed.add({"n": len(arrived)})
            arrived.clear()

        feed = Feed(gather=gather)
        readers = [asyncio.ensure_future(read(feed, "", 1)) for _ in range(20)]
        await asyncio.sleep(0)
        for n in range(1000):
            arrived.append(n)
            feed.expect()
        for found in await asyncio.gather(*readers):
            assert numbers(found) == [1000]
        assert gathered == [1000]

    asyncio.run(run())


def test_a_reader_that_comes_late_hears_of_what_arrived_before() -> None:
    async def run() -> None:
        feed = Feed(gather=lambda: feed.add({"n": 1}))
        feed.touch()
        feed.expect()  # nobody waits yet
        assert numbers(await read(feed, "", 1)) == [1]

    asyncio.run(run())


def test_the_size_of_what_is_kept_is_bounded() -> None:
    feed = Feed(size=10_000)
    feed.touch()
    for n in range(1000):
        feed.add({"n": n, "text": "x" * 1000})
    assert len(feed._kept) < 12


def test_without_a_reader_nothing_is_kept_and_an_old_id_is_no_place_in_the_new_events() -> None:
    async def run() -> None:
        feed = Feed(linger=0.0)
        feed.add({"n": 1})
        assert not feed._kept
        feed.touch()
        reading = asyncio.ensure_future(read(feed, "", 1))
        await asyncio.sleep(0)
        feed.add({"n": 2})
        assert numbers(await reading) == [2]
        old = feed.cursor
        feed.add({"n": 3})
        (item,) = await read(feed, old, 1)
        assert json.loads(item.data) == {"type": "reload"}

    asyncio.run(run())


def test_an_id_that_no_feed_gave_leads_to_a_reload() -> None:
    async def run() -> None:
        feed = Feed()
        feed.touch()
        for wrong in ("x-1", f"{feed.cursor}9", "1", "-1", f"{feed.cursor.partition('-')[0]}--1", "٣-٣"):
            (item,) = await read(feed, wrong, 1)
            found: dict[str, Any] = json.loads(item.data)
            assert found == {"type": "reload"}, wrong

    asyncio.run(run())

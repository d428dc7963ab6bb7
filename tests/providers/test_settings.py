"""The limits of waiting that are in force unless somebody sets others, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agentcli.core.errors import ModelError
from agentcli.core.event import ReplyRestarted, Retrying
from agentcli.core.model import Request, Stopped, StreamEvent
from agentcli.providers.catalog import spec
from agentcli.providers.retrying import RetryingModel
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import RetryPolicy
from tests.clock import seconds_of
from tests.loopback import Cut, Idle, Loopback
from tests.loopback.server import black_hole
from tests.providers.hearing import ALL, BOTH, Heard, connected, hear, request
from tests.tables import each_row

POLICY = RetryPolicy()
LONG = say("one two three four five six seven " * 10)
IDLE = 300.0

both = pytest.mark.parametrize("name", BOTH)


async def ask(server: Loopback, name: str, policy: RetryPolicy = POLICY) -> Heard:
    model = connected(server, name, policy)
    heard = await hear(model, request(model.spec, "hello"))
    await model.close()  # type: ignore[attr-defined]
    return heard


@both
@pytest.mark.parametrize("after", [0, 3])
def test_a_silent_reply_counts_as_dropped_after_five_minutes_and_the_next_one_is_the_answer(
    name: str, after: int
) -> None:
    async def run() -> tuple[Heard, int]:
        async with Loopback([Idle(LONG, after, 86_400), say("here again")]).in_this_loop() as server:
            return await ask(server, name), len(server.asked)

    took, (heard, requests) = seconds_of(run())
    assert (heard.text[-10:], heard.error, requests) == ("here again", None, 2)
    [retry] = [step for step in heard.steps if isinstance(step, Retrying)]
    assert f"sent nothing for {IDLE:g} s" in retry.reason
    assert sum(isinstance(step, ReplyRestarted) for step in heard.steps) == (1 if after else 0)
    assert IDLE < took < IDLE + POLICY.first + 1


@pytest.mark.full
@both
def test_a_reply_may_take_hours_as_long_as_something_comes(name: str) -> None:
    async def run() -> Heard:
        slow = say("one two three four five six seven " * 60, delay=IDLE - 150, rate=1)
        async with Loopback([slow]).in_this_loop() as server:
            return await ask(server, name)

    took, heard = seconds_of(run())
    assert (heard.error, heard.text[:7]) == (None, "one two")
    assert took > 2 * IDLE


@both
def test_five_attempts_at_a_server_that_never_answers_the_first_packet_take_a_minute(name: str) -> None:
    async def run(url: str) -> Heard:
        server = Loopback()
        server.port = int(url.rpartition(":")[2])
        return await ask(server, name, replace(POLICY, attempts=5))

    with black_hole() as url:
        took, heard = seconds_of(run(url))
    assert heard.error is not None
    assert (heard.error.cause, heard.error.exit_code) == ("network", 75)
    assert [step.attempt for step in heard.steps if isinstance(step, Retrying)] == [1, 2, 3, 4]
    assert 50 <= took <= 60


@pytest.mark.full
@each_row("name", ALL)
@pytest.mark.parametrize("at", [20, 900])
@pytest.mark.parametrize("how", ["close", "end", "chunk"])
def test_a_reply_that_is_cut_at_the_same_place_every_time_is_asked_for_five_times(name: str, at: int, how: Any) -> None:
    async def run() -> tuple[Heard, int]:
        async with Loopback(lambda _: Cut(LONG, at, how)).in_this_loop() as server:
            return await ask(server, name), len(server.asked)

    took, (heard, requests) = seconds_of(run())
    assert requests == 5
    assert took < 10
    assert heard.error is not None
    assert heard.error.exit_code == 75
    assert "5 replies had begun and broke off: the provider may charge" in str(heard.error)


@each_row(("reached", "attended", "patient"), [(False, False, False), (True, False, True), (False, True, True)])
def test_a_name_without_an_address_is_waited_for_if_it_had_one_or_a_person_is_there(
    reached: bool, attended: bool, patient: bool
) -> None:
    missing = ModelError("Can't reach it.", "network", unresolved=True)
    waits: list[float] = []
    replies = [say("Hi.")] if reached else []

    class Nowhere:
        spec = spec("demo")

        async def stream(self, _: Request) -> AsyncIterator[StreamEvent]:
            if not replies:
                raise missing
            yield Stopped(replies.pop().ending)

    async def wait(delay: float) -> None:
        waits.append(delay)

    async def run() -> Heard:
        model = RetryingModel(Nowhere(), attended=attended, sleep=wait, clock=lambda: sum(waits))  # type: ignore[arg-type]
        for _ in replies[:]:
            await hear(model, request(model.spec, "hello"))
        return await hear(model, request(model.spec, "hello"))

    assert asyncio.run(run()).error is not None
    assert (sum(waits) > 60) is patient
    assert patient or (len(waits) >= 1 and sum(waits) <= 3)

"""The rate gate: what several processes do after a refusal, in simulated time."""

from __future__ import annotations

import asyncio
import heapq
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, Retrying, TextDelta, Waiting
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.providers.retrying import (
    COMPANY,
    GROWTH,
    HALF_LIFE,
    HELD,
    LONGEST_GAP,
    LONGEST_HOLD,
    LONGEST_TEXT,
    Gate,
    OpenGate,
    RateGate,
    RetryingModel,
    Spacing,
    gate_for,
)
from agentcli.providers.scripted.model import say
from tests.clock import seconds_of
from tests.loopback import Loopback, Refuse
from tests.providers.hearing import ALL, ONCE, Heard, connected, hear, request
from tests.tables import each_row


class Clock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def simulated(gates: list[Gate], clock: Clock, requests: int, rate: float = 0.5, burst: float = 5.0) -> tuple[int, int]:
    """Requests sent and refused until each gate's worker has had `requests` answers of 2 s from a token bucket."""
    tokens, filled, sent, refused = burst, clock.now, 0, 0
    left = [requests] * len(gates)
    due = [(clock.now + gate.take(str(worker)), worker, "send") for worker, gate in enumerate(gates)]
    while due:
        clock.now, worker, step = heapq.heappop(due)
        gate, wait, following = gates[worker], 2.0, "answered"
        if step == "answered":
            left[worker] -= 1
            if not left[worker]:
                continue
            wait, following = gate.take(str(worker)), "send"
        else:
            sent += 1
            tokens, filled = min(burst, tokens + rate * (clock.now - filled)), clock.now
            if tokens >= 1.0:
                tokens -= 1.0
                gate.passed(0.0)
            else:
                refused += 1
                asked = (1.0 - tokens) / rate
                gate.refused(asked, 0.0)
                wait, following = max(asked, gate.take(str(worker))), "send"
        heapq.heappush(due, (clock.now + wait, worker, following))
    return sent, refused


def test_workers_that_share_a_gate_are_refused_less_than_a_tenth_of_the_time(tmp_path: Path) -> None:
    clock = Clock()
    sent, refused = simulated([RateGate(tmp_path / "g", clock) for _ in range(8)], clock, requests=30)
    assert refused / sent < 0.1
    clock = Clock()
    sent, refused = simulated([RateGate(tmp_path / "few", clock) for _ in range(8)], clock, requests=9, burst=3.0)
    assert refused / sent < 0.1
    clock = Clock()
    alone_sent, alone_refused = simulated([OpenGate() for _ in range(8)], clock, requests=30)
    assert alone_refused / alone_sent > 0.5


class Talking:
    """A model that never stops."""

    spec = ModelSpec(id="talker", provider="test", window=200_000)
    asked = 0

    async def stream(self, _: Request) -> AsyncIterator[StreamEvent]:
        self.asked += 1
        while True:
            yield CallDelta("1", "write", "word " * 200_000)


def test_a_reply_without_end_is_stopped_and_not_asked_for_again() -> None:
    async def read() -> None:
        async for _ in RetryingModel(talking).stream(request(talking.spec, "hello")):  # type: ignore[arg-type]
            steps.append(1)

    talking, steps = Talking(), list[int]()
    with pytest.raises(ModelError, match=r"wrote more than 4,000,000 characters in one reply\. Try again"):
        asyncio.run(read())
    assert len(steps) == LONGEST_TEXT // 1_000_000
    assert talking.asked == 1


def test_nothing_is_written_or_held_until_a_request_was_refused(tmp_path: Path) -> None:
    gate = RateGate(tmp_path / "gates" / "g", Clock())
    assert gate.take("a") == 0.0
    gate.passed(0.0)
    assert not (tmp_path / "gates").exists()


def test_after_a_refusal_all_wait_and_then_come_one_by_one(tmp_path: Path) -> None:
    clock = Clock()
    one, other = (RateGate(tmp_path / "g", clock) for _ in range(2))
    one.refused(10.0, 0.5)
    one.refused(10.0, 0.6)  # under way together with the first: the gap does not grow again
    assert (other.take("b"), one.take("a"), other.take("b")) == pytest.approx((10.0, 10.0, 12.0))
    clock.now += 10 * HALF_LIFE
    assert (one.take("a"), other.take("b"), one.take("a")) == (0.0, 0.0, 0.0)


def test_one_who_uses_a_key_alone_is_not_paced(tmp_path: Path) -> None:
    clock = Clock()
    gate = RateGate(tmp_path / "g", clock)
    for _ in range(8):
        clock.now += gate.take("a")
        gate.refused(1.0, 0.0)
    assert [gate.take("a") for _ in range(5)] == [1.0] * 5
    assert gate.take("b") == 1.0
    assert gate.take("a") > 1.0
    clock.now += COMPANY + 10.0
    assert [gate.take("a") for _ in range(3)] == [0.0] * 3


def test_retries_that_are_refused_too_tell_nothing_new_of_the_pace() -> None:
    spacing = Spacing()
    for second in range(20):
        spacing = spacing.refused(float(second), 1.5, float(second))
    assert spacing.gap == 1.5
    again = spacing.passed(20.0).refused(20.0, 1.5, 20.0)
    assert 1.5 < again.gap < 1.5 * GROWTH
    assert spacing.passed(-1.0).refusing, "it was under way when the refusals began"


def test_a_gap_has_bounds_and_is_forgotten() -> None:
    spacing = Spacing()
    for second in range(20):
        spacing = spacing.refused(float(second), 9.0, float(second)).passed(float(second))
    assert spacing.gap == LONGEST_GAP
    assert spacing.gap_at(19.0 + HALF_LIFE) == pytest.approx(LONGEST_GAP / 2)
    assert spacing.gap_at(19.0 + 10 * HALF_LIFE) == 0.0
    assert spacing.gap_at(10.0) == 0.0, "written under a clock ahead of this one"
    assert Spacing(slot=1e12).taken(5.0, "a")[1] == LONGEST_HOLD


def test_requests_under_way_together_are_of_different_users(tmp_path: Path) -> None:
    gate, same = RateGate(tmp_path / "g"), RateGate(tmp_path / "g")
    with gate.user() as first, same.user() as second:
        assert first != second
    with same.user() as third:
        assert third == first


@each_row("text", ["", "{", "[1]", "[1, 2, 3, 4]", '["a", 1, 2, false, []]', "[1, 2, 3, false, [4]]", "\0" * 50])
def test_a_damaged_file_holds_nothing_up(text: str, tmp_path: Path) -> None:
    (tmp_path / "g").write_text(text)
    gate = RateGate(tmp_path / "g", Clock())
    assert gate.take("a") == 0.0
    gate.refused(3.0, 0.0)
    assert gate.take("a") == 3.0


def test_each_key_has_a_gate_of_its_own(tmp_path: Path) -> None:
    gate_for(tmp_path, "anthropic", "", "one").refused(9.0, 0.0)
    assert gate_for(tmp_path, "anthropic", "", "one").take("a") > 5.0
    assert gate_for(tmp_path, "anthropic", "", "two").take("a") == 0.0
    assert gate_for(None, "anthropic", "", "one").take("a") == 0.0
    assert not any("one" in file.read_text() + file.name for file in tmp_path.iterdir())


class Bounded:
    """A model that refuses its first requests."""

    spec = ModelSpec("test", "bounded")

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        if self.left:
            self.left -= 1
            raise ModelError("Too many requests.", "rate_limit", retry_after=4.0, brief="rate limit")
        yield TextDelta("ok")

    async def count(self, request: Request) -> int | None:
        return None


def heard(model: RetryingModel) -> list[StreamEvent]:
    async def collect() -> list[StreamEvent]:
        return [event async for event in model.stream(Request(model.spec, (), (), ()))]

    return asyncio.run(collect())


def test_a_refusal_of_one_session_holds_the_next_one_back(tmp_path: Path) -> None:
    clock = Clock()
    gate = RateGate(tmp_path / "g", clock)
    first = RetryingModel(Bounded(1), gate=gate, sleep=clock.sleep, clock=clock, chance=lambda: 0.0)
    assert [(event.attempt, event.delay) for event in heard(first) if isinstance(event, Retrying)] == [(1, 4.0)]
    gate.refused(7.0, 0.0)
    [held, answer] = heard(RetryingModel(Bounded(0), gate=gate, sleep=clock.sleep, clock=clock))
    assert held == Waiting(7.0, HELD)
    assert answer == TextDelta("ok")


def test_those_who_are_asked_to_wait_do_not_all_come_back_at_once() -> None:
    clock = Clock()
    delays = set()
    for chance in (0.0, 0.5, 0.99):
        model = RetryingModel(Bounded(1), sleep=clock.sleep, clock=clock, chance=lambda chance=chance: chance)
        delays |= {event.delay for event in heard(model) if isinstance(event, Retrying)}
    assert sorted(delays) == pytest.approx([4.0, 4.2, 4.396])


@pytest.mark.full
@each_row("name", ALL)
def test_a_burst_of_refusals_costs_the_turns_after_it_only_what_the_server_demands(name: str, tmp_path: Path) -> None:
    plan = [*[Refuse(429, headers={"retry-after": "2"})] * 8, *[say("ok", delay=1.0)] * 20]

    async def run() -> tuple[list[Heard], int]:
        clock = asyncio.get_running_loop().time
        async with Loopback(plan).in_this_loop() as server:
            inner = connected(server, name, ONCE)
            model = RetryingModel(inner, gate=RateGate(tmp_path / "g", clock), clock=clock)
            heard = [await hear(model, request(model.spec, "hello")) for _ in range(20)]
            await model.close()
            return heard, len(server.asked)

    took, (heard, asked) = seconds_of(run())
    assert [(one.text, one.error) for one in heard] == [("ok", None)] * 20
    assert asked == 28
    assert took < 2 * (8 * 2 + 20)
    assert not [step for one in heard for step in one.steps if isinstance(step, Waiting)]


@pytest.mark.slow
def test_processes_take_different_slots(tmp_path: Path) -> None:
    gate = RateGate(tmp_path / "g")
    gate.refused(60.0, 0.0)
    code = f"from pathlib import Path; from agentcli.providers.retrying import RateGate; print([RateGate(Path({str(tmp_path / 'g')!r})).take(str(n)) for n in range(50)])"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert all(len(eval(process.communicate()[0])) == 50 for process in running)
    assert gate.take("a") > 50.0 + 199 * 0.25 - 1.0

"""A cache kept warm between turns: what is asked of the server, what is spent and recorded, and when nothing is asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.warming import NAME
from agentcli.context.settings import CacheSettings, ContextSettings
from agentcli.core.event import Event, UsageReported
from agentcli.core.record import FeatureState
from agentcli.frontends.terminal.idle import Idle
from agentcli.providers.scripted.model import say
from tests.agent.open_session import open_session
from tests.clock import seconds_of
from tests.loopback import Asked, Loopback, Refuse
from tests.providers.hearing import connected

LIFETIME = 300
LONG = "Remember this. " * 4_000
"""A prompt of some 16,000 tokens."""


@dataclass
class Desk:
    """A session at a loopback server, whose user thinks between two prompts."""

    server: Loopback
    session: AgentSession
    told: list[str] = field(default_factory=list)
    spent: list[UsageReported] = field(default_factory=list)
    working: bool = False

    def __post_init__(self) -> None:
        self.idle = Idle(self, quiet=1e9)  # type: ignore[arg-type]

    async def say(self, text: str) -> None:
        """Press Enter, and wait for the reply."""
        self.idle.pause()
        self.working = True
        async for _ in self.session.turn(Prompt(text), asyncio.Event()):
            pass
        self.working = False
        self.idle.begin()

    @property
    def small(self) -> list[Asked]:
        """The requests for one token."""
        return [asked for asked in self.server.requests if asked.json["max_tokens"] == 1]

    def tell(self, text: str) -> None:
        self.told.append(text)

    def show_events(self, events: Sequence[Event]) -> None:
        self.spent += [event for event in events if isinstance(event, UsageReported)]


@contextlib.asynccontextmanager
async def desk(
    folder: Path, plan: Any = lambda _: say("Done."), *, name: str = "opus", most: float = 0.5
) -> AsyncIterator[Desk]:
    """Both sides on one loop, whose clock is the provider's, too."""
    clock = asyncio.get_running_loop().time
    async with Loopback(plan, clock=clock).in_this_loop() as server:
        model = connected(server, name)
        context = ContextSettings(cache=CacheSettings(warm_cost=most))
        session = open_session(folder, [], model=model.spec, wrapped=lambda _: model, context=context)
        session.core.builder.cache.clock = clock
        made = Desk(server, session)
        made.idle.pauses, made.idle.cold_cost = folder / "pauses.json", 0.0001
        yield made
        await made.idle.stop()
        session.close()
        await model.close()  # type: ignore[attr-defined]


def test_a_pause_is_bridged_and_its_price_is_recorded_with_the_next_prompt(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as user:
            await user.say(LONG)
            before = [record.body for record in user.session.journal.records()]
            await asyncio.sleep(2 * LIFETIME)
            assert [record.body for record in user.session.journal.records()] == before
            assert len(user.small) == 2
            first, *repeated = user.server.requests
            for asked in repeated:
                assert {**asked.json, "max_tokens": 0} == {**first.json, "max_tokens": 0}
                assert asked.usage["cache_creation_input_tokens"] == 0
            assert user.told == []
            assert user.session.core.builder.spec.cache_lifetime == 860, "no edit is free until then"
            await user.say("Go on.")
            assert user.server.requests[-1].usage["cache_read_input_tokens"] > 10_000, "warm after ten minutes"
            [paid] = [
                record.body
                for record in user.session.journal.records()
                if isinstance(record.body, FeatureState) and record.body.feature == NAME
            ]
            assert paid.usage.cache_read == sum(asked.usage["cache_read_input_tokens"] for asked in repeated)
            assert paid.cost == pytest.approx(sum(event.cost or 0.0 for event in user.spent))
            assert sum(json.loads((tmp_path / "pauses.json").read_text())["pauses"]) == 1

    seconds_of(run())


def test_nothing_is_repeated_for_longer_than_half_an_hour_and_the_line_says_when_it_is_cold(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as user:
            await user.say(LONG)
            await asyncio.sleep(1_800)
            there = len(user.small)
            assert 2 <= there <= 6
            await asyncio.sleep(3_600)
            assert len(user.small) == there
            assert len(user.told) == 1
            assert user.told[0].startswith("Cache is cold")

    seconds_of(run())


@pytest.mark.parametrize(
    "case",
    [{"most": 0.0}, {"name": "gpt"}, {"most": 0.001}],
    ids=["switched off", "a wire without marks", "more than its budget"],
)
def test_nothing_is_asked_where_it_must_not_be(tmp_path: Path, case: dict[str, Any]) -> None:
    async def run() -> None:
        async with desk(tmp_path, **case) as user:
            await user.say(LONG)
            await asyncio.sleep(1_800)
            assert len(user.server.requests) == 1

    seconds_of(run())


def test_a_prompt_that_will_begin_otherwise_is_not_repeated(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as user:
            await user.say(LONG)
            user.session.core.builder.system = ("Other rules.",)
            await asyncio.sleep(1_800)
            assert len(user.server.requests) == 1
            assert len(user.told) == 1

    seconds_of(run())


def test_enter_stops_a_repetition_on_its_way(tmp_path: Path) -> None:
    def plan(asked: Asked) -> Any:
        return say("…", delay=10) if asked.json["max_tokens"] == 1 else say("Done.")

    async def run() -> None:
        async with desk(tmp_path, plan) as user:
            await user.say(LONG)
            await asyncio.sleep(LIFETIME - 15)
            assert len(user.small) == 1
            await user.say("Go on.")
            assert user.idle._warming is not None
            assert user.idle._warming.cancelled()
            assert user.spent == []
            assert user.session.history.turn == 2

    seconds_of(run())


def test_a_failing_server_is_asked_once_and_the_session_goes_on(tmp_path: Path) -> None:
    def plan(asked: Asked) -> Any:
        return Refuse(529, "overloaded_error") if asked.json["max_tokens"] == 1 else say("Done.")

    async def run() -> None:
        async with desk(tmp_path, plan) as user:
            await user.say(LONG)
            await asyncio.sleep(250)
            await asyncio.sleep(1_500)
            assert len(user.small) == 1
            await user.say("Go on.")
            assert user.session.history.turn == 2

    seconds_of(run())

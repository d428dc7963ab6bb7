"""An outage is waited out: the turn completes, or ends so that it can go on later, and nothing that came is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agentcli.agent.ports import Prompt
from agentcli.agent.spending import RunLimits
from agentcli.core.errors import Cause, LimitReached, ModelError
from agentcli.core.event import Event, ReplyRestarted, Retrying, TurnEnded, UsageReported
from agentcli.core.message import Text, Usage
from agentcli.core.model import Model
from agentcli.core.record import Retry
from agentcli.providers.catalog import spec
from agentcli.providers.retrying import RetryingModel
from agentcli.providers.scripted.model import Fault, Reply, call, say
from agentcli.providers.settings import RetryPolicy
from tests.agent.open_session import ended, messages, open_session, results, say_to
from tests.tables import each_row


@dataclass
class Clock:
    """A clock that runs only while somebody sleeps."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def patient(self, policy: RetryPolicy | None = None) -> Callable[[Model], Model]:
        """Wraps a model so that it retries by this clock."""
        return lambda model: RetryingModel(model, policy, sleep=self.sleep, clock=self, chance=lambda: 0.0)


PRICED = spec("haiku")


def broken(cause: Cause = "overloaded", **more: object) -> Reply:
    return Reply((Text("Half an answer"),), fault=Fault(cause, **more))  # type: ignore[arg-type]


def waits_of(events: list[Event]) -> list[Retrying]:
    return [event for event in events if isinstance(event, Retrying)]


@each_row("cause", ["overloaded", "server", "network", "rate_limit"])
def test_forty_faults_in_a_row_are_waited_out(tmp_path: Path, cause: Cause) -> None:
    clock = Clock()
    script = [say("I look.", call("list")), *[broken(cause)] * 40, say("Done.")]
    session = open_session(tmp_path, script, wrapped=clock.patient())
    events = say_to(session, "go")
    assert (ended(events).ending, ended(events).text) == ("done", "Done.")
    assert clock.waits == [0.5, 1, 2, 4, 8, *[15] * 35]
    assert clock.now < RetryPolicy().patience
    assert [wait.attempt for wait in waits_of(events)] == [*range(1, 41)]
    assert [message.text for message in messages(session)][-2:] == ["I look.", "Done."]
    assert len([entry for entry in session.journal.records() if isinstance(entry.body, Retry)]) == 40


def test_after_ten_minutes_the_turn_ends_so_that_it_can_go_on_later(tmp_path: Path) -> None:
    clock, up = Clock(), False
    worked = say("I look.", call("list"))

    def answer(_: object) -> Reply:
        return say("Done.") if up else broken("network") if results(session) else worked

    session = open_session(tmp_path, answer, wrapped=clock.patient())
    last = ended(say_to(session, "go"))
    assert isinstance(last.error, ModelError)
    assert (last.ending, last.error.exit_code) == ("failed", 75)
    assert 585 < clock.now <= 600
    up = True
    assert ended(say_to(session, "go on")).text == "Done."
    assert len(results(session)) == 1


def test_a_reply_that_always_breaks_off_is_asked_for_five_times_and_each_is_paid_for(tmp_path: Path) -> None:
    clock = Clock()
    usage = Usage(1_000, 50)
    refused = [broken("overloaded")] * 3
    script = [*refused, *[replace(broken("network", after=9), usage=usage)] * 20]
    session = open_session(tmp_path, script, wrapped=clock.patient(), model=PRICED)
    events = say_to(session, "go")
    last = ended(events)
    assert len(waits_of(events)) == 3 + 4, "what was refused costs nothing and is not counted"
    assert isinstance(last.error, ModelError)
    assert (last.ending, last.error.exit_code) == ("failed", 75)
    assert messages(session)[-1].text == "Half an answer", "what came last is kept"
    reported = [event for event in events if isinstance(event, UsageReported)]
    one = Usage(1_000, 1)
    assert [event.usage for event in reported] == [one] * 5
    assert session.journal.history.usage == Usage(5_000, 5)
    assert session.journal.history.cost == pytest.approx(5 * (PRICED.cost(one) or 0.0))
    assert "5 replies had begun and broke off: the provider may charge at least $0.0005 for them" in str(last.error)


def test_a_limit_of_cost_counts_the_replies_that_broke_off(tmp_path: Path) -> None:
    clock = Clock()
    script = [replace(broken("network", after=9), usage=Usage(1_000, 50))] * 20
    limits = RunLimits(cost=0.0002)
    session = open_session(tmp_path, script, wrapped=clock.patient(), model=PRICED, run_limits=limits)
    events = say_to(session, "go")
    assert ended(events).ending == "limit"
    assert len(clock.waits) == 2
    assert messages(session)[-1].text == "Half an answer"


def test_a_rate_limit_waits_as_the_provider_asks_up_to_the_same_patience(tmp_path: Path) -> None:
    clock = Clock()
    asked = [broken("rate_limit", retry_after=seconds) for seconds in (240.0, 300.0, 61.0)]
    session = open_session(tmp_path, asked, wrapped=clock.patient())
    last = ended(say_to(session, "go"))
    assert clock.waits == [240, 300]
    assert isinstance(last.error, ModelError)
    assert last.error.exit_code == 75
    assert "3 requests in 9 min" in str(last.error)


def test_a_wait_beyond_all_patience_is_not_begun(tmp_path: Path) -> None:
    clock = Clock()
    session = open_session(tmp_path, [broken("rate_limit", retry_after=3600.0)], wrapped=clock.patient())
    last = ended(say_to(session, "go"))
    assert clock.waits == []
    assert "longer than retry.patience (600 s)" in str(last.error)


def test_a_provider_that_asks_for_no_wait_is_not_asked_without_end(tmp_path: Path) -> None:
    clock = Clock()
    session = open_session(tmp_path, lambda _: broken("rate_limit", retry_after=0.0), wrapped=clock.patient())
    assert ended(say_to(session, "go")).ending == "failed"
    assert len(clock.waits) < 50


def test_what_time_does_not_cure_is_tried_five_times(tmp_path: Path) -> None:
    clock = Clock()
    session = open_session(tmp_path, lambda _: broken("bad_reply"), wrapped=clock.patient())
    assert ended(say_to(session, "go")).ending == "failed"
    assert len(clock.waits) == 4


def test_an_interrupt_while_it_waits_keeps_what_came(tmp_path: Path) -> None:
    def endless(model: Model) -> Model:
        return RetryingModel(model, RetryPolicy(first=99, longest=99))

    session = open_session(tmp_path, [broken("network", after=9)], wrapped=endless)

    async def interrupted() -> list[Event]:
        interrupt, seen = asyncio.Event(), []
        async for event in session.turn(Prompt("talk"), interrupt):
            seen.append(event)
            if isinstance(event, Retrying):
                interrupt.set()
        return seen

    seen = asyncio.run(interrupted())
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].ending == "interrupted"
    assert ReplyRestarted() not in seen
    assert messages(session)[-1].text == "Half an answer"


def test_a_limit_of_the_run_ends_the_patience_sooner(tmp_path: Path) -> None:
    clock = Clock()
    limits = RunLimits(seconds=20, clock=clock, started=0.0)
    session = open_session(tmp_path, lambda _: broken(), wrapped=clock.patient(), run_limits=limits)
    last = ended(say_to(session, "go"))
    assert last.ending == "limit"
    assert isinstance(last.error, LimitReached)
    assert "--max-time" in str(last.error)
    assert clock.waits == [0.5, 1, 2, 4, 8]

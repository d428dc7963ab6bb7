"""Timers in a session: which prompt is due, when they end, and that nothing of it is repeated after a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.errors import AgentError, InputError, LimitReached, UsageError
from agentcli.core.event import Event, Noticed, TurnEnded, Warned
from agentcli.core.record import FeatureState
from agentcli.features.timers import TimersSession
from agentcli.features.timers.commands import after, every, loop
from agentcli.features.timers.session import _judged
from agentcli.features.timers.state import Timer, Timers, save, timers_of
from agentcli.program.commands import Context, OutputCommand
from agentcli.providers.scripted.model import Fault, Reply, call, say
from tests.agent.open_session import ended, messages, open_session
from tests.frontends.commands.as_turn import events_of

MAKE = TimersSession
RUNNERS: list[asyncio.Runner] = []


@pytest.fixture(autouse=True)
def one_loop() -> Iterator[None]:
    """One event loop for all that a test runs: a session stays in its loop."""
    with asyncio.Runner() as runner:
        RUNNERS.append(runner)
        yield
        RUNNERS.clear()


def opened(folder: Path, script: Sequence[Reply], **more: Any) -> AgentSession:
    return open_session(folder, script, mode="yolo", features=[MAKE], **more)


def run(session: AgentSession, command: OutputCommand, argument: str, *, terminal: object = None) -> list[Event]:
    """The events of a command; with a `terminal` as there, where it only sets the timer."""

    async def collect() -> list[Event]:
        context = Context(session, None, terminal)  # type: ignore[arg-type]
        return await events_of(command.yields(context, argument), session)

    return RUNNERS[0].run(collect())


def listed(session: AgentSession) -> str:
    return ended(run(session, loop, "")).text


def due(session: AgentSession) -> tuple[str | None, list[Event]]:
    """The prompt that is due, as an idle terminal asks for it, and the events before it."""
    shown: list[Event] = []
    if not session.is_due():
        return None, shown
    prompt = RUNNERS[0].run(session.due(asyncio.Event(), shown.extend))
    assert prompt is None or isinstance(prompt, str)
    return prompt, shown


def overdue(session: AgentSession) -> None:
    """Let the time of every timer pass."""
    timers = timers_of(session.core)
    save(session.core, replace(timers, all=tuple(replace(timer, next=time.time() - 1) for timer in timers.all)))


def test_a_loop_is_due_at_once_and_then_after_its_interval(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    assert "every 5 min, 2 left" in ended(run(session, loop, "5m --times 2 check it", terminal=session)).text
    assert due(session)[0] == "check it"
    assert due(session)[0] is None
    assert "1 left, next in" in listed(session)
    overdue(session)
    assert due(session)[0] == "check it"
    assert listed(session).startswith("No timers")


def test_every_waits_first_and_after_runs_once(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    run(session, every, "5m first", terminal=session)
    run(session, after, "2m once", terminal=session)
    assert due(session)[0] is None
    overdue(session)
    assert [due(session)[0], due(session)[0], due(session)[0]] == ["first", "once", None]
    assert len(timers_of(session.core).all) == 1


def test_time_that_passed_while_nothing_could_run_is_not_made_up_for(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    run(session, every, "1s check", terminal=session)
    timers = timers_of(session.core)
    save(session.core, replace(timers, all=(replace(timers.all[0], next=time.time() - 3600),)))
    assert due(session)[0] == "check"
    assert due(session)[0] is None


def test_a_command_that_exits_0_ends_a_timer_before_its_prompt(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    run(session, loop, "1s --until 'test -e done' check", terminal=session)
    assert due(session)[0] == "check"
    (tmp_path / "done").touch()
    overdue(session)
    prompt, shown = due(session)
    assert prompt is None
    [notice] = [event.message for event in shown if isinstance(event, Noticed)]
    assert notice == "Timer 1 has ended (`test -e done` ended with exit code 0): check"
    assert not timers_of(session.core).all


def test_a_command_that_hangs_is_named_and_the_timer_goes_on(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    run(session, loop, "1s --until 'sleep 1000' check", terminal=session)
    prompt, shown = due(session)
    assert prompt == "check"
    assert ["was stopped after 1 s" in event.message for event in shown if isinstance(event, Warned)] == [True]


def test_a_budget_ends_a_timer(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    run(session, loop, "1s --cost 0.50 check", terminal=session)
    session.core.record(FeatureState("x", {}, "m", cost=0.6))
    prompt, shown = due(session)
    assert prompt is None
    assert any(isinstance(event, Noticed) and "$0.5 are spent" in event.message for event in shown)


def test_timers_are_cancelled_one_by_one_or_all(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    for text in ("a", "b", "c"):
        run(session, every, f"5m {text}", terminal=session)
    assert ended(run(session, loop, "cancel 2")).text == "Cancelled timer 2."
    assert [timer.text for timer in timers_of(session.core).all] == ["a", "c"]
    run(session, loop, "cancel")
    with pytest.raises(UsageError, match="No timers"):
        run(session, loop, "cancel")
    run(session, every, "5m d", terminal=session)
    assert timers_of(session.core).all[0].id == 4, "a number is never given again"


def test_after_a_restart_timers_wait_for_resume(tmp_path: Path) -> None:
    first = opened(tmp_path, [])
    run(first, every, "1s check it", terminal=first)
    overdue(first)
    again = opened(tmp_path, [], journal=first.journal)
    assert not again.is_due()
    [note] = [note for note in again.notes if "/loop resume" in note]
    assert "A timer waits" in note
    assert "check it" in note
    assert "Paused (the session was resumed)" in listed(again)
    run(again, loop, "resume")
    assert due(again)[0] == "check it"
    run(again, loop, "pause")
    overdue(again)
    assert due(again)[0] is None


@pytest.mark.full
def test_a_run_without_a_person_waits_for_its_timers(tmp_path: Path) -> None:
    script = [say("One."), say("", call("bash", command="touch done")), say("Two."), say("Three.")]
    session = opened(tmp_path, script, attended=False)
    events = run(session, loop, "1s --times 9 --until 'test -e done' check")
    assert ended(events) == TurnEnded("done", "Two.", steps=2)
    assert [message.text for message in messages(session) if message.is_prompt] == ["check", "check"]
    assert not timers_of(session.core).all


def test_after_waits_before_the_only_prompt_of_a_run(tmp_path: Path) -> None:
    session = opened(tmp_path, [say("One.")], attended=False)
    began = time.monotonic()
    assert ended(run(session, after, "1s hello")).text == "One."
    assert time.monotonic() - began >= 1
    assert [message.text for message in messages(session)] == ["hello", "One."]


def test_an_editor_cannot_have_timers(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    with pytest.raises(InputError, match="Timers work in a terminal and with -p"):
        run(session, loop, "5m check")


def test_a_run_that_fails_is_counted_and_ends_a_run_without_a_person(tmp_path: Path) -> None:
    session = opened(tmp_path, [Reply(fault=Fault("bad_request", "no"))], attended=False)
    assert ended(run(session, loop, "1s check")).ending == "failed"
    assert timers_of(session.core).failed == 1


def test_failures_in_a_row_and_limits_pause_the_timers() -> None:
    timers = Timers(running=True)
    failed = TurnEnded("failed")
    assert _judged(_judged(timers, failed), TurnEnded("done")).failed == 0
    thrice = _judged(_judged(_judged(timers, failed), failed), failed)
    assert (thrice.paused, thrice.running) == ("3 runs in a row failed", False)
    assert _judged(timers, TurnEnded("limit", error=LimitReached("Too much."))).paused == "Too much"
    assert _judged(timers, TurnEnded("interrupted")) == Timers()


def test_a_timer_says_what_it_lacks(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    for argument, why in (
        ("soon x", "takes a time"),
        ("5m", "Which prompt"),
        ("5m --times 0 x", "from 1 on"),
        ("5m --x y", "Unknown option"),
    ):
        with pytest.raises(AgentError, match=why):
            run(session, loop, argument, terminal=session)
    for _ in range(20):
        run(session, every, "5m x", terminal=session)
    with pytest.raises(UsageError, match="There are 20 timers"):
        run(session, every, "5m x", terminal=session)


def test_timers_are_read_as_they_were_saved_and_a_wrong_record_is_none(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    timers = Timers((Timer(3, "x", 5.0, 7.5, 2, "true", 1.5, 0.25),), 3, "why", 1, True, session.core.opened_at)
    save(session.core, timers)
    assert timers_of(session.core) == timers
    session.core.record(FeatureState("timers", {"timers": [5]}))
    assert timers_of(session.core) == Timers()

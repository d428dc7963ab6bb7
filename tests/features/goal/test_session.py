"""A goal in a session: it ends on a check and on nothing else, and never loops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.errors import AgentError, UsageError
from agentcli.core.event import Event, Noticed, Recorded, TurnEnded, Warned
from agentcli.core.record import FeatureState
from agentcli.features.goal import GoalSession
from agentcli.features.goal.commands import goal
from agentcli.features.goal.session import notes
from agentcli.features.goal.state import Goal, goal_of, save
from agentcli.program.commands import Context
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, say
from tests.agent.open_session import DEMO, ended, messages, open_session, say_to
from tests.frontends.commands.as_turn import events_of
from tests.tables import each_row

MAKE = GoalSession
PASSED = '{"verdict": "reached", "evidence": [{"result": %d, "quote": "12 passed in 0.8s"}], "reason": "they pass"}'
RUNNERS: list[asyncio.Runner] = []
NOT_YET = '{"verdict": "not yet", "evidence": [], "reason": "the tests were not run"}'


def opened(folder: Path, script: Sequence[Reply], *judge: str, **more: Any) -> AgentSession:
    model = ScriptedModel(DEMO, [say(text) for text in judge] or [say(NOT_YET)])
    return open_session(folder, script, mode="yolo", summariser=model, features=[MAKE], **more)


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """One event loop for all that a test runs: a session stays in its loop."""
    with asyncio.Runner() as runner:
        RUNNERS.append(runner)
        yield
        RUNNERS.clear()


def run(session: AgentSession, argument: str, interrupt: asyncio.Event | None = None) -> list[Event]:
    """The events of `/goal argument`, as every front end has them."""

    async def collect() -> list[Event]:
        outputs = goal.yields(Context(session, None), argument)  # type: ignore[arg-type]
        return await events_of(outputs, session, interrupt=interrupt)

    return RUNNERS[0].run(collect())


def bash(command: str) -> Reply:
    return say("", call("bash", command=command))


def said(events: Sequence[Event]) -> str:
    return "\n".join(event.message for event in events if isinstance(event, Noticed | Warned))


def warnings(events: Sequence[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned)]


def state(session: AgentSession) -> Goal:
    found = goal_of(session.core)
    assert found is not None
    return found


def test_work_goes_on_over_turns_until_the_command_exits_0(tmp_path: Path) -> None:
    script = [say("I promise: done."), bash("touch done"), say("Now it is."), say("never asked")]
    session = opened(tmp_path, script)
    events = run(session, "--check 'test -e done' make the file done")
    assert ended(events).ending == "done"
    assert ended(events).text == "Now it is."
    assert (state(session).status, state(session).turn) == ("reached", 2)
    assert "Goal, turn 1 of 25" in said(events)
    assert "Goal reached (turn 2 of 25" in said(events)
    told = messages(session)[-3].parts[0].text  # type: ignore[union-attr]
    assert "make the file done" in told
    assert "`test -e done` ended with exit code 1" in told


def test_a_quotation_that_is_in_a_result_ends_the_goal(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("printf '12 passed in %s\\n' 0.8s"), say("They pass.")], PASSED % 5)
    events = run(session, "all tests pass")
    assert state(session).status == "reached"
    assert "“12 passed in 0.8s” (record 5)" in said(events)
    assert not warnings(events)
    assert any("separate model judges" in getattr(part, "text", "") for part in messages(session)[0].parts)


def test_a_lying_judge_is_named_and_the_work_goes_on(tmp_path: Path) -> None:
    script = [bash("echo 1"), say("Done!"), bash("echo 2"), say("Done!"), say("Done!")]
    session = opened(tmp_path, script, PASSED % 5)
    events = run(session, "all tests pass")
    assert state(session).status == "paused"
    assert len(warnings(events)) == 4
    assert all("is not in result 5. It does not count." in warning for warning in warnings(events))
    assert "2 turns in a row brought no new result" in str(ended(events).error)


@pytest.mark.full
@each_row("garbage", ["no", "{", "[]", '{"verdict": "yes"}', '{"verdict": "reached"}', "{" * 5_000])
def test_a_judge_that_answers_garbage_is_asked_again_then_pauses_the_goal(tmp_path: Path, garbage: str) -> None:
    session = opened(tmp_path, [bash("echo 1"), say("x"), bash("echo 2"), say("y"), bash("echo 3")], garbage)
    events = run(session, "all tests pass")
    assert [("could not be read" in warning) for warning in warnings(events)] == [True, True]
    assert ended(events).ending == "failed"
    assert "2 checks in a row gave no verdict" in str(ended(events).error)
    assert state(session).unjudged == 2


def test_an_answer_that_is_mended_counts(tmp_path: Path) -> None:
    script = [bash("printf '12 passed in %s\\n' 0.8s"), say("x")]
    session = opened(tmp_path, script, "Sure!", f"```json\n{PASSED % 5}\n```")
    assert not warnings(run(session, "all tests pass"))
    assert state(session).status == "reached"


def test_what_a_judge_costs_is_part_of_the_goal_and_of_the_session(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("printf '12 passed in %s\\n' 0.8s"), say("x")], PASSED % 5)
    before = session.history.usage
    run(session, "all tests pass")
    kept = list(session.journal.records_of("feature"))
    assert isinstance(kept[-1].body, FeatureState)
    assert kept[-1].body.usage.output > 0
    assert (session.history.usage - before).output > 10


@pytest.mark.full
def test_a_check_that_hangs_is_stopped_named_and_does_not_count(tmp_path: Path) -> None:
    script = [bash("echo 1"), say("x"), bash("echo 2"), say("y")]
    session = opened(tmp_path, script)
    began = time.monotonic()
    events = run(session, "--time 2s --check 'sleep 1000' never")
    assert time.monotonic() - began < 60
    assert state(session).status == "paused"
    assert any("was stopped after" in warning and "counts as not passed" in warning for warning in warnings(events))


def test_a_check_that_floods_is_read_at_both_ends_and_named(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("touch a"), say("x"), bash("touch done"), say("y")])
    flood = "test -e done || { head -c 100000000 /dev/zero | tr '\\\\0' x; echo the end; false; }"
    events = run(session, f'--check "{flood}" make the file')
    assert state(session).status == "reached"
    assert [warning for warning in warnings(events) if "printed 100,000,008 bytes" in warning]
    told = messages(session)[3].parts[0].text  # type: ignore[union-attr]
    assert "the end" in told
    assert len(told) < 6_000


def test_turns_without_a_new_result_pause_the_goal(tmp_path: Path) -> None:
    session = opened(tmp_path, [say("I will do it."), say("I promise.")])
    events = run(session, "--check false do it")
    assert ended(events) == TurnEnded("failed", "I promise.", ended(events).error, 1)
    assert state(session).turn == 2
    assert "brought no new result" in messages(session)[2].parts[0].text  # type: ignore[union-attr]


def test_limits_pause_the_goal_and_resume_must_raise_them(tmp_path: Path) -> None:
    script = [reply for n in range(4) for reply in (bash(f"echo {n}"), say("x"))]
    session = opened(tmp_path, script)
    events = run(session, "--turns 2 --check false do it")
    assert ended(events).ending == "limit"
    assert "limit of 2 turns" in str(ended(events).error)
    with pytest.raises(UsageError, match="Raise it: --turns N"):
        run(session, "resume")
    events = run(session, "resume --turns 3")
    assert (ended(events).ending, state(session).turn) == ("limit", 3)


def test_an_interrupt_pauses_and_resume_continues_with_the_next_turn(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("touch done"), say("x")])
    interrupt = asyncio.Event()
    interrupt.set()
    run(session, "--check 'test -e done' make it", interrupt)
    assert (state(session).status, state(session).why) == ("paused", "interrupted")
    assert ended(run(session, "resume")).ending == "done"
    assert (state(session).status, state(session).turn) == ("reached", 2)


def test_pause_and_clear_end_it_after_the_running_turn(tmp_path: Path) -> None:
    session = opened(tmp_path, [say("x")])
    run(session, "--wait --check false do it")
    assert "Goal (active): do it" in ended(run(session, "")).text
    run(session, "pause")
    assert ended(say_to(session, "hello")).ending == "done"
    assert "Goal (paused): do it" in ended(run(session, "")).text
    run(session, "clear")
    for argument in ("pause", "resume", "clear"):
        with pytest.raises(UsageError, match="No goal is set"):
            run(session, argument)


def test_a_goal_that_waits_begins_with_the_next_prompt(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("touch done"), say("x")])
    run(session, "--wait --check 'test -e done' the file exists")
    events = say_to(session, "make the file done")
    assert state(session).status == "reached"
    assert "Goal reached" in said(events)
    assert any("the file exists" in getattr(part, "text", "") for part in messages(session)[0].parts)


def test_after_a_restart_the_goal_waits_and_a_note_says_so(tmp_path: Path) -> None:
    first = opened(tmp_path, [say("x")])
    run(first, "--wait --check false do it")
    again = opened(tmp_path, [say("y")], journal=first.journal)
    assert notes(again.core) == tuple(note for note in again.notes if "do it" in note)
    assert "/goal resume continues" in again.notes[-1]
    assert ended(say_to(again, "hello")) == TurnEnded("done", "y", steps=1)
    assert "Goal (paused)" in ended(run(again, "")).text


def test_the_record_comes_before_anything_that_follows_from_it(tmp_path: Path) -> None:
    session = opened(tmp_path, [bash("echo 1"), say("x"), bash("touch done"), say("y")])
    run(session, "--check 'test -e done' make it")
    kinds = [(record.kind, getattr(record.body, "turn", 0)) for record in session.journal.records()]
    states = [place for place, (kind, _) in enumerate(kinds) if kind == "feature"]
    prompts = [place for place, (kind, turn) in enumerate(kinds) if kind == "message" and turn]
    assert states[0] < prompts[0]
    assert kinds[states[1] + 1] == ("message", 2)


def test_a_goal_says_what_it_lacks(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    for argument, why in (
        ("--check true", "What is the goal"),
        ("x" * 4_001, "can have 4,000"),
        ("/undo it", "A goal can.t begin with /"),
        ("resume --turns 3 now", "Use /goal"),
        ("--turns 0 x", "--turns takes"),
    ):
        with pytest.raises(AgentError, match=why):
            run(session, argument)
    assert not list(session.journal.records_of("feature"))


def test_a_record_that_cannot_be_read_is_no_goal(tmp_path: Path) -> None:
    session = opened(tmp_path, [say("x")])
    session.core.record(FeatureState("goal", {"text": 5, "turn": "x"}))
    assert goal_of(session.core) is None
    assert ended(say_to(session, "hi")).ending == "done"
    assert "No goal is set" in ended(run(session, "")).text


def test_a_goal_is_read_as_it_was_saved(tmp_path: Path) -> None:
    session = opened(tmp_path, [])
    goal = Goal("do it", "make", 3, 60.0, 1.5, "paused", "why", 4, 2, 1.5, 0.2, 7.0, 0.1, 3, 1, 1, 0)
    assert isinstance(save(session.core, goal), Recorded)
    assert goal_of(session.core) == goal

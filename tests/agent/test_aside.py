"""A side question leaves nothing in its session but its cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from agentcli.agent.aside import SideQuestion
from agentcli.agent.session import AgentSession
from agentcli.context.settings import BudgetLimit, BudgetSettings
from agentcli.core.errors import AgentError, HookBlocked, ModelError, UsageError
from agentcli.core.event import Event, Noticed, Recorded, UsageReported
from agentcli.core.model import Request
from agentcli.core.tasks import emitted
from agentcli.features.hooks.files import Hook
from agentcli.frontends.built_in import SideQuestions
from agentcli.program.commands import Context
from agentcli.providers.scripted.model import Fault, Reply, call, say
from tests.agent.open_session import ended, messages, open_session, say_to
from tests.frontends.commands.as_turn import events_of


def script(*replies: Reply) -> tuple[Callable[[Request], Reply], list[Request]]:
    """A script that keeps the requests that it was asked."""
    left, asked = list(replies), list[Request]()

    def next_reply(request: Request) -> Reply:
        asked.append(request)
        return left.pop(0)

    return next_reply, asked


def ask(session: AgentSession, question: str) -> list[Event]:
    """The events of `/btw question`, as front ends without a terminal have them."""

    async def collect() -> list[Event]:
        [btw] = SideQuestions().commands()
        outputs = btw.yields(Context(session, None), question)  # type: ignore[arg-type]
        return await events_of(outputs, session)

    return asyncio.run(collect())


def bodies(events: Sequence[Event]) -> list[object]:
    return [event.record.body for event in events if isinstance(event, Recorded)]


def test_the_answer_is_no_part_of_the_session_and_of_no_later_request(tmp_path: Path) -> None:
    replies, asked = script(say("One."), say("Forty-two."), say("Two."))
    session = open_session(tmp_path, replies)
    say_to(session, "first")
    before = messages(session)
    events = ask(session, "what is it?")
    assert (ended(events).ending, ended(events).text) == ("done", "Forty-two.")
    assert messages(session) == before
    assert session.history.turn == 1
    say_to(session, "second")
    assert "what is it?" in repr(asked[1])
    assert "Forty-two" not in repr(asked[2])
    assert "what is it" not in repr(asked[2])
    assert asked[1].messages[:-1] == asked[2].messages[: len(asked[1].messages) - 1]
    assert (asked[1].system, asked[1].tools, asked[1].options) == (asked[2].system, asked[2].tools, asked[2].options)


def test_its_cost_is_recorded_reported_and_said(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("One."), say("Forty-two.")])
    say_to(session, "first")
    before = session.history.usage.total
    events = ask(session, "what is it?")
    [used] = [event for event in events if isinstance(event, UsageReported)]
    kept = session.history.features["side questions"]
    assert (used.kind, used.context, kept.data) == ("aside", 0, {})
    assert session.history.usage.total == before + used.usage.total > before
    assert used.usage.cache_read > used.usage.input
    assert any(isinstance(event, Noticed) and f"{used.usage.prompt:,} tokens in" in event.message for event in events)
    assert any("side questions" in line for line in session.report.costs())


def test_a_call_is_not_run_and_the_person_is_told(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Let me see.", call("bash", command="touch made"))], mode="yolo")
    events = ask(session, "what is it?")
    assert not (tmp_path / "made").exists()
    assert messages(session) == []
    assert ended(events).text == (
        "Let me see.\n(The model called bash, which was not run: a side question has no tools. Ask it as a prompt.)"
    )


def test_it_has_the_tools_of_the_session_in_its_request_before_the_first_prompt_too(tmp_path: Path) -> None:
    replies, asked = script(say("Hello."), say("One."))
    session = open_session(tmp_path, replies)
    ask(session, "what is it?")
    say_to(session, "first")
    assert asked[0].tools == asked[1].tools != ()
    assert asked[0].system == asked[1].system


@pytest.mark.parametrize("after", [0, 1])
def test_a_provider_that_fails_is_named_and_what_came_is_shown(after: int, tmp_path: Path) -> None:
    session = open_session(tmp_path, [Reply(say("Forty-two and more.").parts, fault=Fault("server", after=after))])
    if after:
        assert ended(ask(session, "what?")).text == "Forty-two an\n(The answer broke off.)"
        return
    with pytest.raises(ModelError, match="the script says so"):
        ask(session, "what?")
    assert "side questions" not in session.history.features


def test_an_interrupt_ends_it_and_what_was_paid_is_recorded(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Forty-two " * 20, rate=50.0)])
    question = SideQuestion(session.core, "what?", session.prepare)

    async def interrupted() -> None:
        interrupt = asyncio.Event()

        async def first() -> Event:
            return await anext(emitted(partial(question.ask, interrupt, tell_cost=True)))

        asking = asyncio.create_task(first())
        while not asking.done():
            await asyncio.sleep(0.05)
            interrupt.set()
        assert isinstance(asking.result(), UsageReported)

    asyncio.run(interrupted())
    assert "side questions" in session.history.features


def test_a_hook_that_blocks_prompts_blocks_side_questions(tmp_path: Path) -> None:
    replies, asked = script()
    session = open_session(tmp_path, replies, hooks=[Hook("UserPromptSubmit", "echo a secret >&2; exit 2")])
    with pytest.raises(HookBlocked, match="a secret"):
        ask(session, "what?")
    assert asked == []


def test_a_budget_that_is_used_up_forbids_it(tmp_path: Path) -> None:
    replies, asked = script()
    session = open_session(tmp_path, replies, budget=BudgetSettings(session=BudgetLimit(tokens=1)))
    with pytest.raises(AgentError, match="The side question was not sent"):
        ask(session, "what?")
    assert asked == []


def test_it_needs_a_question(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="What is the question"):
        ask(open_session(tmp_path, [say("x")]), "")

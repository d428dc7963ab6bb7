"""Input that takes more than a quarter of the free window: the person decides, and without one it goes to a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.agent.large_input import AS_FILE, WHOLE
from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.event import Event, Noticed
from agentcli.core.message import File, Text
from agentcli.core.model import Prices
from agentcli.core.tool import Question
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import DEMO, ended, messages, open_session, say_to

LARGE = replace(DEMO, window=968_000, prices=Prices(5, 25, 0.5, 6.25))
PASTE = "\n".join(f"line {n} of a very long paste" for n in range(2_000))
HUGE = "\n".join(f"line {n} of a very long paste" for n in range(40_000))


class Answering:
    """Somebody who answers each question alike, and remembers them."""

    def __init__(self, answer: str | None) -> None:
        self.answer, self.asked = answer, list[Question]()

    async def __call__(self, questions: Sequence[Question]) -> Sequence[str] | None:
        self.asked += questions
        return None if self.answer is None else [self.answer] * len(questions)


def told(events: Sequence[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Noticed) and "is saved in" in event.message]


def test_a_paste_of_two_thousand_lines_reaches_a_large_window_whole_and_unasked(tmp_path: Path) -> None:
    person = Answering(None)
    session = open_session(tmp_path, [say("I read it.")], model=LARGE, ask=person)
    assert told(say_to(session, PASTE)) == person.asked == []
    assert messages(session)[0].text == PASTE


def test_a_person_is_asked_with_the_price_and_may_send_it_whole(tmp_path: Path) -> None:
    person = Answering(WHOLE)
    session = open_session(tmp_path, [say("I read it.")], model=LARGE, ask=person)
    assert told(say_to(session, HUGE)) == []
    assert messages(session)[0].text == HUGE
    [question] = person.asked
    assert "of the free window and costs about $2.16 " in question.question
    assert [choice.label for choice in question.choices] == [WHOLE, AS_FILE]


def test_a_model_without_a_price_is_asked_about_without_one(tmp_path: Path) -> None:
    for prices in (None, Prices()):
        person = Answering(WHOLE)
        say_to(open_session(tmp_path, [say("I read it.")], model=replace(LARGE, prices=prices), ask=person), HUGE)
        assert person.asked[0].question.endswith(" of the free window.")


def test_who_declines_or_chooses_the_file_gets_the_file_and_its_path(tmp_path: Path) -> None:
    for answer in (AS_FILE, None):
        session = open_session(tmp_path, [say("I read on.")], model=LARGE, ask=Answering(answer))
        [notice] = told(say_to(session, HUGE))
        assert notice.startswith("Input of 40,000 lines, about ")
        assert messages(session)[0].text.startswith("[Large input saved to ")


def test_without_a_person_it_goes_to_a_file_and_that_is_said(tmp_path: Path) -> None:
    person = Answering(WHOLE)
    session = open_session(tmp_path, [say("I read on.")], model=LARGE, ask=person, attended=False)
    assert len(told(say_to(session, HUGE))) == 1
    assert person.asked == []
    assert "Large input saved to" in messages(session)[0].text


def test_what_no_window_can_hold_is_not_offered_whole(tmp_path: Path) -> None:
    person = Answering(WHOLE)
    session = open_session(tmp_path, [say("I read on.")], ask=person)
    assert len(told(say_to(session, HUGE))) == 1
    assert person.asked == []


def test_a_message_into_a_running_turn_goes_to_a_file_without_a_question(tmp_path: Path) -> None:
    person = Answering(WHOLE)
    session = open_session(tmp_path, [say("", call("list")), say("done")], model=LARGE, ask=person)
    events = asyncio.run(steered(session))
    assert ended(events).ending == "done"
    assert len(told(events)) == 1
    assert person.asked == []


async def steered(session: AgentSession) -> list[Event]:
    session.steer(Prompt("see", (Text("see"), File("text/plain", "a.log", HUGE))))
    return [event async for event in session.turn(Prompt("go"), asyncio.Event())]

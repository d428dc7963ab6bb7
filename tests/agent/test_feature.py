"""A feature with a state on record may continue the work after a turn; without one it is not asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentcli.agent.feature import SessionPart
from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.spending import RunLimits
from agentcli.core.errors import LimitReached
from agentcli.core.event import Emit, Noticed, TurnEnded
from agentcli.core.history import fold
from agentcli.core.message import Message, Usage, reminder
from agentcli.core.record import FeatureState, Kept, Record
from agentcli.providers.scripted.model import say
from tests.agent.open_session import ended, messages, open_session, say_to

GO_ON = Prompt("", (reminder("Go on."),), typed=False)


class Continuing(SessionPart):
    """Asks for some more turns, and remembers which turns ended."""

    name = "more"

    def __init__(self, turns: int) -> None:
        self.left, self.seen = turns, list[TurnEnded]()

    async def after_turn(self, turn: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded:
        self.seen.append(turn)
        await emit(Noticed(f"{self.left} left"))
        self.left -= 1
        return GO_ON if self.left >= 0 else TurnEnded("failed", turn.text)


def test_a_feature_with_a_state_continues_the_work_and_says_how_it_ended(tmp_path: Path) -> None:
    more = Continuing(2)
    session = open_session(tmp_path, [say("One."), say("Two."), say("Three.")], features=[lambda _: more])
    session.core.record(FeatureState("more", {}))
    events = say_to(session, "go")
    assert ended(events) == TurnEnded("failed", "Three.")
    assert [turn.text for turn in more.seen] == ["One.", "Two.", "Three."]
    assert [message.text for message in messages(session)] == ["go", "One.", "", "Two.", "", "Three."]
    assert [message.turn for message in messages(session)] == [1, 1, 2, 2, 3, 3]


def test_a_feature_without_a_state_is_not_asked(tmp_path: Path) -> None:
    more = Continuing(2)
    session = open_session(tmp_path, [say("One.")], features=[lambda _: more])
    session.core.record(FeatureState("another", {}))
    assert ended(say_to(session, "go")) == TurnEnded("done", "One.", steps=1)
    assert more.seen == []


def test_the_limits_of_a_run_hold_for_all_turns_together(tmp_path: Path) -> None:
    more = Continuing(5)
    session = open_session(tmp_path, [say("More.")], features=[lambda _: more], run_limits=RunLimits(turns=3))
    session.core.record(FeatureState("more", {}))
    say_to(session, "go")
    assert [turn.ending for turn in more.seen[:4]] == ["done", "done", "done", "limit"]
    assert isinstance(more.seen[3].error, LimitReached)


def test_a_state_lasts_over_a_rewind_and_what_was_spent_for_it_stays_spent(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("One.")])
    say_to(session, "go", "again")
    session.core.record(FeatureState("more", {"n": 1}, "demo/m", Usage(100, 10), 0.5))
    session.undo_stack.rewind(messages_at(session)[1])
    assert [message.text for message in messages(session)] == ["go", "One."]
    assert (session.history.cost, session.history.features["more"].data) == (0.5, {"n": 1})
    assert "demo/m (more): 1 request, $0.50" in "\n".join(session.report.costs())


def test_a_state_from_a_session_of_others_is_ignored(tmp_path: Path) -> None:
    state = Record(1, "", "", "", FeatureState("goal", {"check": "rm -rf ."}))
    later = Record(2, "", "", "", FeatureState("goal", {"check": "pytest"}))
    assert fold([state], foreign=1).features == {}
    assert fold([state, later], foreign=1).features == {"goal": Kept(2, {"check": "pytest"})}


def messages_at(session: AgentSession) -> list[int]:
    return [e.seq for e in session.history.entries if isinstance(e.body, Message) and e.body.is_prompt]

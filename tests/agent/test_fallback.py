"""Another model takes over only where one is configured, only when the first has failed for good, and never in silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent import report
from agentcli.agent.fallback import FallbackModel
from agentcli.core.errors import CredentialsError, ModelError
from agentcli.core.event import Event, Noticed, Recorded, ReplyRestarted, Retrying, Warned
from agentcli.core.message import Text, Thinking
from agentcli.core.model import Request
from agentcli.core.record import Failure, Settings
from agentcli.providers.scripted.model import Fault, Reply, ScriptedModel, call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.compaction.compacting import Answers, compress, long_story, newest, session, snapshot
from tests.agent.compaction.compacting import ended as compressed
from tests.agent.open_session import DEMO, ended, messages, open_session, results, say_to
from tests.tables import each_row

FIRST, OTHER = f"{DEMO.provider}/first", f"{DEMO.provider}/other"
ASKED_FIRST = replace(DEMO, id="first")
OTHER_SPEC = replace(DEMO, id="other")


class Pair:
    """The first model thinks and reads, then fails with a cause; the other one answers. Remembers who was asked what."""

    def __init__(self, cause: str, *, good: int = 0, after: int = 0) -> None:
        self.cause, self.good, self.after = cause, good, after
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[str]:
        return [request.model.id for request in self.requests]

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if request.model.id == "other":
            return say("The other one answers.")
        if self.asked.count("first") <= self.good:
            return say("I look.", call("list"), thinking="a thought of the first")
        half = (Text("Half an answer that"), call("write", file_path="never.txt", content="x"))
        return Reply(half, fault=Fault(self.cause, after=self.after))  # type: ignore[arg-type]


def notices(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Noticed)]


@each_row("cause", ["overloaded", "rate_limit", "server", "network"])
def test_the_other_model_answers_and_the_user_is_told(tmp_path: Path, cause: str) -> None:
    pair = Pair(cause)
    session = open_session(tmp_path, pair, model=ASKED_FIRST, fallback_model=OTHER)
    events = say_to(session, "go")
    assert (ended(events).ending, ended(events).text) == ("done", "The other one answers.")
    assert pair.asked == ["first", "other"]
    [notice] = notices(events)
    assert OTHER in notice
    assert FIRST in notice
    switched = [e.record.body for e in events if isinstance(e, Recorded) and isinstance(e.record.body, Settings)]
    assert [settings.model for settings in switched] == [OTHER]
    assert messages(session)[-1].model == "other"
    assert session.core.model.name == session.history.model == OTHER


@each_row("cause", ["auth", "billing", "bad_request", "not_found", "refusal", "bad_reply"])
def test_what_another_model_does_not_cure_is_not_passed_on(tmp_path: Path, cause: str) -> None:
    pair = Pair(cause)
    events = say_to(open_session(tmp_path, pair, model=ASKED_FIRST, fallback_model=OTHER), "go")
    assert ended(events).ending == "failed"
    assert set(pair.asked) == {"first"}


def test_without_a_configured_model_the_turn_fails(tmp_path: Path) -> None:
    pair = Pair("overloaded")
    session = open_session(tmp_path, pair, model=ASKED_FIRST)
    events = say_to(session, "go")
    assert (ended(events).ending, pair.asked, notices(events)) == ("failed", ["first"], [])
    assert session.core.model.name == FIRST


def test_thoughts_of_the_first_model_are_not_sent_to_the_other(tmp_path: Path) -> None:
    pair = Pair("overloaded", good=1)
    session = open_session(tmp_path, pair, model=ASKED_FIRST, fallback_model=OTHER)
    assert ended(say_to(session, "go")).text == "The other one answers."
    assert pair.asked == ["first", "first", "other"]
    to_first, to_other = (
        [p for turn in request.messages for p in turn.parts if isinstance(p, Thinking)] for request in pair.requests[1:]
    )
    assert to_first == [Thinking("a thought of the first", "scripted")]
    assert to_other == []
    assert "I look." in str(pair.requests[-1].messages), "its words are"
    assert [message.model for message in messages(session) if message.role == "assistant"] == ["first", "other"]


def test_half_an_answer_is_taken_back_paid_for_and_runs_nothing(tmp_path: Path) -> None:
    pair = Pair("network", after=99)
    session = open_session(tmp_path, pair, model=ASKED_FIRST, fallback_model=OTHER, mode="yolo")
    events = say_to(session, "go")
    assert ReplyRestarted() in events
    assert [message.text for message in messages(session)][1:] == ["The other one answers."]
    assert "Half" not in str(pair.requests[-1].messages)
    assert results(session) == []
    assert not (tmp_path / "never.txt").exists()
    [paid] = [e.record.body for e in events if isinstance(e, Recorded) and isinstance(e.record.body, Failure)]
    assert (paid.where, paid.usage.prompt > 0) == (FIRST, True)


def test_when_the_other_fails_too_the_turn_ends_with_its_error(tmp_path: Path) -> None:
    def failing(request: Request) -> Reply:
        cause = "overloaded" if request.model.id == "first" else "server"
        return Reply((Text("Half"),), fault=Fault(cause, after=9))  # type: ignore[arg-type]

    session = open_session(tmp_path, failing, model=ASKED_FIRST, fallback_model=OTHER)
    events = say_to(session, "go")
    assert ended(events).ending == "failed"
    assert len(notices(events)) == 1
    assert messages(session)[-1].text == "Half", "what arrived last is kept"


def test_a_resumed_session_goes_on_with_the_model_it_had_and_can_go_back(tmp_path: Path) -> None:
    journal = MemorySession()
    session = open_session(tmp_path, Pair("overloaded"), model=ASKED_FIRST, fallback_model=OTHER, journal=journal)
    say_to(session, "go")
    assert journal.history.model == OTHER
    session.switch(model=FIRST)
    assert session.core.model.name == FIRST
    assert ended(say_to(session, "again")).text == "The other one answers.", "it can fail over once more"


def test_the_other_model_is_connected_when_it_is_needed_and_not_before(tmp_path: Path) -> None:
    asked: list[str] = []

    def connect(name: str) -> ScriptedModel:
        asked.append(name)
        return ScriptedModel(OTHER_SPEC, [say("Here I am.")])

    fallback = FallbackModel(OTHER, connect)
    assert fallback.instead_of(ASKED_FIRST, ModelError("x", "auth")) is None
    assert asked == []
    for _ in range(2):
        model = fallback.instead_of(ASKED_FIRST, ModelError("x", "overloaded"))
        assert model is not None
        assert model.spec.name == OTHER
    assert asked == [OTHER]
    assert fallback.instead_of(OTHER_SPEC, ModelError("x", "overloaded")) is None, "it does not take over from itself"


def test_another_model_that_cannot_be_connected_is_told_beside_the_error(tmp_path: Path) -> None:
    def connect(name: str) -> ScriptedModel:
        raise CredentialsError("There is no key for other.")

    session = open_session(tmp_path, Pair("overloaded"), model=ASKED_FIRST, fallback_model=OTHER)
    session.conversation.fallback = FallbackModel(OTHER, connect)
    events = say_to(session, "go")
    assert ended(events).ending == "failed"
    [warned] = [event.message for event in events if isinstance(event, Warned)]
    assert OTHER in warned
    assert "no key" in warned


def test_a_summary_is_written_by_the_other_model_where_the_summariser_has_failed() -> None:
    busy = Answers(ModelError("Overloaded.", "overloaded"))
    other = Answers(snapshot("Fix the parser.", "- It is slow."), spec=OTHER_SPEC)
    journal = session(long_story())
    events = compress(journal, busy, fallback=FallbackModel(OTHER, lambda _: other))
    assert compressed(events).status == "compressed"
    [told] = notices(events)
    assert (OTHER in told, "Overloaded." in told) == (True, True)
    settings = [e.record.body for e in events if isinstance(e, Recorded) and isinstance(e.record.body, Settings)]
    assert [(body.model, body.why) for body in settings] == [("", told)]
    assert any(OTHER in line for line in report.automatic_actions(list(journal.records())))
    assert journal.history.compaction is not None
    assert newest(journal).model == OTHER
    assert len(other.requests) == 1
    assert other.requests[0].model == OTHER_SPEC


@pytest.mark.parametrize("cause", ["auth", "bad_request"])
def test_a_summary_that_another_model_would_not_cure_is_left_to_the_ledger(cause: str) -> None:
    failing, other = Answers(ModelError("No.", cause)), Answers("never", spec=OTHER_SPEC)  # type: ignore[arg-type]
    events = compress(session(long_story()), failing, fallback=FallbackModel(OTHER, lambda _: other))
    assert compressed(events).status == "compressed"
    assert other.requests == []


def test_a_retry_of_a_summary_is_told_when_it_happens_and_recorded() -> None:
    class Hesitating(Answers):
        async def stream(self, request: Request) -> Any:
            yield Retrying(1, 0.0, "Busy.")
            async for step in super().stream(request):
                yield step

    events = compress(session(long_story()), Hesitating(snapshot("Fix the parser.", "- It is slow.")))
    kinds = [type(event.record.body if isinstance(event, Recorded) else event).__name__ for event in events]
    assert kinds[:3] == ["CompactionStarted", "Retry", "Retrying"]
    assert kinds.count("Retrying") == 1
    assert kinds.index("Retrying") < kinds.index("UsageReported")

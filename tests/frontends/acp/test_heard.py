"""Events of a shared session, translated back."""

from __future__ import annotations

import json
from typing import Any

from agentcli.core.event import (
    CompactionEnded,
    Event,
    Noticed,
    Pruned,
    ReplyRestarted,
    Retrying,
    TextDelta,
    UsageReported,
)
from agentcli.core.message import Usage
from agentcli.frontends.acp.heard import Heard
from agentcli.frontends.run.events import to_json
from agentcli.frontends.run.results import run_events

Json = dict[str, Any]


def delta(text: str) -> Json:
    return {"type": "message", "role": "assistant", "text": text, "delta": True}


def whole(text: str) -> Json:
    return {"type": "message", "role": "assistant", "text": text}


def messages(events: list[Event]) -> list[str]:
    """The texts of the replies that an editor shows."""
    shown = [""]
    for event in events:
        if isinstance(event, TextDelta):
            shown[-1] += event.text
        elif isinstance(event, ReplyRestarted):
            shown.append("")
    return [text for text in shown if text]


def heard(*told: Json, partial: tuple[Json, ...] = ()) -> list[str]:
    translator = Heard()
    events = [event for each in told for event in translator.of(each)]
    for each in partial:
        if each["type"] == "reloaded":
            events += translator.arriving(each["partial"])
        else:
            events += translator.of(each)
    return messages(events)


def test_the_last_words_come_with_the_whole_message_and_once() -> None:
    assert heard(delta("All "), whole("All done."), delta("And "), whole("And more.")) == ["All done.", "And more."]


def test_a_message_of_which_a_word_was_redacted_late_is_shown_whole_again() -> None:
    assert heard(delta("The key is "), whole("[redacted]"), delta("Ok "), whole("Ok then")) == [
        "The key is ",
        "[redacted]",
        "Ok then",
    ]


def test_a_reply_continues_after_a_gap() -> None:
    gap = {"type": "reloaded", "partial": {"text": "One two three "}}
    assert heard(delta("One "), partial=(gap, whole("One two three four"))) == ["One two three four"]


def test_a_reply_that_a_kill_cut_off_is_not_mixed_with_the_next_one() -> None:
    empty = {"type": "reloaded", "partial": {"text": "", "thinking": ""}}
    assert heard(delta("Hel"), partial=(empty, delta("Hello "), whole("Hello you"))) == ["Hel", "Hello you"]


def test_every_event_of_a_run_is_understood() -> None:
    """Each event that has a meaning here is translated from the very JSON that programs are told."""
    usage = Usage(1, 2, 3, 4, 5)
    agents: list[Event] = [
        UsageReported(usage, 0.5, 10),
        Pruned(("c1",), 100, "old"),
        CompactionEnded("auto", "done", "snapshot", 10, 5, "small"),
        Retrying(1, 2.0, "busy"),
        Noticed("Careful."),
    ]
    for event in agents:
        (told,) = [json.loads(json.dumps(to_json(each))) for each in run_events(event)]
        assert [*Heard().of(told)] == [event]

"""A reply while it arrives: stream events in, a message out, however the stream ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.reply import CUT, EMPTY, MALFORMED, UNKNOWN, ReplyBuilder
from agentcli.core.errors import AgentError
from agentcli.core.event import TextDelta
from agentcli.core.message import Pieces, Text
from agentcli.core.model import PartDone
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import ended, messages, open_session, results, say_to
from tests.agent.test_loop import reminders


def test_an_empty_reply_is_asked_for_three_times_more_and_never_stored(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("", thinking="hm"), say("")])
    last = ended(say_to(session, "go"))
    assert (last.ending, last.steps) == ("failed", 4)
    assert (type(last.error), str(last.error).count("4 times in a row")) == (AgentError, 1)
    assert all(message.role == "user" for message in messages(session))
    assert reminders(session).count(EMPTY) == 3


@pytest.mark.parametrize(
    ("stop", "told"),
    [("max_tokens", CUT), ("malformed_call", MALFORMED.format(call="call of write")), ("error", UNKNOWN)],
)
def test_a_reply_that_cannot_stand_is_explained_to_the_model(tmp_path: Path, stop: str, told: str) -> None:
    (tmp_path / "a.txt").write_text("kept\n")
    cut = Reply((Text("I write."), call("write", file_path="a.txt", content="half a fi")), stop=stop)  # type: ignore[arg-type]
    session = open_session(tmp_path, [cut, say("Then not.")], mode="yolo")
    assert ended(say_to(session, "go")).text == "Then not."
    assert (tmp_path / "a.txt").read_text() == "kept\n", "a call that was cut off ran"
    assert [result.status for result in results(session)] == ["interrupted"]
    assert results(session)[0].output == f"Not run: the reply that asked for it did not end as it should have ({stop})."
    assert told in reminders(session)


def test_pieces_without_a_growing_text_are_collected_in_one_so_that_no_piece_costs_more_than_the_first() -> None:
    first = reply = ReplyBuilder().add(TextDelta("word"))
    for _ in range(1_000):
        reply = reply.add(TextDelta(" word"))
    assert reply is first
    assert reply.so_far() == (Text("word" + " word" * 1_000),)
    kept = reply.add(PartDone(Text("all of it"))).add(TextDelta("next"))
    assert kept.so_far() == (Text("all of it"), Text("next"))


def test_a_reply_shares_the_text_that_its_model_keeps() -> None:
    reply, pieces, words = ReplyBuilder(), Pieces(), [f"word{n} " for n in range(1_000)]
    for word in words:
        pieces.append(word)
        reply = reply.add(TextDelta(word, pieces))
    assert (reply.text, reply.tail) == ("".join(words), (pieces,))
    assert reply.joined() == ReplyBuilder(parts=(Text(reply.text),))
    assert reply.add(TextDelta("more")).add(TextDelta(" yet")).text == f"{reply.text}more yet"
    assert reply.add(PartDone(Text("all of it"))).so_far() == (Text("all of it"),)

"""What the checker of requests says about each thing that is wrong."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.assemble import assemble
from agentcli.context.invariants import Passed, can_be_sent, check, open_result, repair
from agentcli.context.view import view
from agentcli.core.message import Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, Request, RequestMessage
from agentcli.core.record import Compaction, VerbatimText
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.transcripts import MODEL
from tests.tables import each_row

SEEN = view(history(prompt("hi"), reply(thought(), call("a"), call("b")), result("a"), result("b"), prompt("more")))
GOOD = assemble(SEEN, ["system"], [], MODEL)


def told(request: Request, **more: object) -> list[str]:
    return [str(violation) for violation in check(request, SEEN, **more)]  # type: ignore[arg-type]


def with_turn(number: int, *parts: Part | ToolResult) -> Request:
    turns = list(GOOD.messages)
    turns[number] = replace(turns[number], parts=parts)
    return replace(GOOD, messages=tuple(turns))


def test_results_are_told_by_their_turn() -> None:
    a, b, words = GOOD.messages[2].parts
    assert told(GOOD) == []
    assert told(with_turn(2, b, a, words)) == ["pairing: turn 2 answers ['b', 'a'] where ['a', 'b'] were asked"]
    assert told(with_turn(2, a, words, b)) == ["pairing: turn 2 has a result behind other content"]
    assert told(with_turn(2, a, words)) == ["pairing: turn 2 answers ['a'] where ['a', 'b'] were asked"]
    assert told(replace(GOOD, messages=GOOD.messages[:2])) == [
        "pairing: ['a', 'b'] are not answered",
        "roles: the request does not end with the user",
    ]
    again = (*GOOD.messages, RequestMessage("assistant", (call("a"),)), RequestMessage("user", (result("a"),)))
    assert "pairing: turn 3 repeats the id of a call" in told(replace(GOOD, messages=again))
    thoughts = GOOD.messages[1].parts[:1]
    twice = replace(
        with_turn(1, *thoughts, call("a"), call("a")), messages=with_turn(1, *thoughts, call("a"), call("a")).messages
    )
    assert "pairing: turn 1 repeats the id of a call" in told(twice)


def test_roles_and_contents_are_told_by_their_turn() -> None:
    assert told(with_turn(0)) == ["roles: turn 0 is empty"]
    assert told(with_turn(0, Text("  "))) == ["roles: turn 0 has a blank text"]
    assert told(with_turn(0, Text("  ", meta={"x": {}}))) == []
    assert told(with_turn(0, Text("x"), thought())) == [
        "roles: turn 0 has the user call or think",
        "thinking: 2 thoughts are sent where 1 are due, or they were changed",
    ]
    assert told(replace(GOOD, messages=())) == [
        "roles: the request does not end with the user",
        "thinking: 0 thoughts are sent where 1 are due, or they were changed",
    ]
    first = replace(GOOD, messages=(*GOOD.messages, GOOD.messages[0]))
    assert told(first) == ["roles: turn 3 is the user's"]


@each_row(
    ("place", "found"),
    [
        (Breakpoint(-1), []),
        (Breakpoint(0, -1), []),
        (Breakpoint(0, 0), []),
        (Breakpoint(0, 1), ["breakpoints: Breakpoint(message=0, part=1) points nowhere"]),
        (Breakpoint(0, -2), ["breakpoints: Breakpoint(message=0, part=-2) points nowhere"]),
        (Breakpoint(2, 2), []),
        (Breakpoint(3, 0), ["breakpoints: Breakpoint(message=3, part=0) points nowhere"]),
        (Breakpoint(-2), ["breakpoints: Breakpoint(message=-2, part=-1) points nowhere"]),
    ],
)
def test_a_breakpoint_is_somewhere(place: Breakpoint, found: list[str]) -> None:
    assert told(replace(GOOD, breakpoints=(place,))) == found


def test_four_breakpoints_are_not_too_many() -> None:
    assert told(replace(GOOD, breakpoints=(Breakpoint(-1),) * 4)) == []
    assert told(replace(GOOD, breakpoints=(Breakpoint(-1),) * 5)) == ["breakpoints: 5 of at most 4"]


def test_a_request_fits_to_the_last_token() -> None:
    assert told(GOOD, tokens=10, usable=10) == told(GOOD, tokens=11) == told(GOOD, usable=9) == []
    assert told(GOOD, tokens=11, usable=10) == ["size: 11 tokens do not fit into 10"]
    assert told(GOOD, former=replace(GOOD, system=("x",))) == ["kept: system or tools differ from the former request"]


def test_carried_words_are_told_by_their_record() -> None:
    words, pin, answer = (VerbatimText(seq, 1, text) for seq, text in ((-3, "words"), (-2, "pin"), (-1, "answer")))
    body = Compaction(
        "auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", pins=(pin,), user_words=(words,), answer=answer
    )
    seen = view(history(prompt("hi"), reply("ok"), body, prompt("more", 2)))
    request = assemble(seen, ["system"], [], MODEL)
    assert check(request, seen) == ()
    texts = request.messages[0].parts
    for number, seq in ((1, -3), (2, -2), (3, -1)):
        less = replace(request.messages[0], parts=(*texts[:number], *texts[number + 1 :]))
        found = check(replace(request, messages=(less, *request.messages[1:])), seen)
        assert [str(each) for each in found] == [f"kept: the words of record {seq} are gone"]


@each_row(
    ("part", "sent"),
    [
        (Text("x"), True),
        (Text(" \n"), False),
        (Text("", meta={MODEL.kind: {}}), True),
        (Text("", meta={"other": {}}), False),
        (Thinking("x", "s"), True),
        (Thinking("x"), False),
        (Thinking("", "", {MODEL.kind: {}}), True),
        (Image("image/png", ""), True),
        (ToolCall("a", "read", {}), True),
    ],
)
def test_a_model_accepts_what_says_something_and_what_it_can_verify(part: Part, sent: bool) -> None:
    own = RequestMessage("assistant", (part,), MODEL.provider, MODEL.id)
    assert can_be_sent(part, own, MODEL) is sent
    others = sent and not isinstance(part, Thinking)
    assert (
        can_be_sent(part, replace(own, provider="x"), MODEL)
        is can_be_sent(part, replace(own, model="x"), MODEL)
        is others
    )


def test_messages_that_passed_are_not_checked_again_unless_something_changed() -> None:
    passed = Passed()
    assert check(GOOD, SEEN, passed=passed) == ()
    assert passed.beginning(GOOD, SEEN) == 3
    assert passed.called == {"a", "b"}
    assert passed.beginning(replace(GOOD, model=replace(MODEL, id="x")), SEEN) == 0
    assert passed.called == set()
    assert check(GOOD, SEEN, passed=passed) == ()
    broken = with_turn(0)
    assert passed.beginning(broken, SEEN) == 0
    assert check(broken, SEEN, passed=passed) != ()
    assert passed.beginning(GOOD, SEEN) == 0, "only what is valid is remembered"


def test_neighbours_of_the_model_become_one_unless_the_first_one_called() -> None:
    said, more = (RequestMessage("assistant", (Text(text),), "p", "m") for text in "ab")
    called = replace(said, parts=(call("c"),))
    user = RequestMessage("user", (Text("u"),))
    assert [len(each.parts) for each in repair([user, said, more, user], MODEL)] == [1, 2, 1]
    turns = repair([user, called, more, user], MODEL)
    assert [each.role for each in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert turns[2].parts == (open_result(call("c")),)
    nameless = replace(more, provider="", model="")
    joined = repair([user, said, nameless, user], MODEL)[1]
    assert (joined.provider, joined.model) == ("p", "m")
    renamed = repair([user, said, replace(more, provider="q", model="n"), user], MODEL)[1]
    assert (renamed.provider, renamed.model) == ("q", "n")

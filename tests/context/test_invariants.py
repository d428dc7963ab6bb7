"""The checker finds what is wrong: each invariant is broken here once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.assemble import assemble
from agentcli.context.inject import escape
from agentcli.context.invariants import (
    CONTINUE,
    INTERRUPTED,
    Broken,
    Passed,
    can_be_sent,
    check,
    ensure,
    mended,
    open_result,
    repair,
)
from agentcli.context.view import View, view
from agentcli.core.message import Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, Request, RequestMessage, ToolSchema
from agentcli.core.record import Compaction, VerbatimText
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.transcripts import MODEL, OTHER
from tests.counted import counted
from tests.tables import each_row

SEEN = view(history(prompt("hi"), reply(thought(), call("a"), call("b")), result("a"), result("b"), prompt("more")))
GOOD = assemble(SEEN, ["system"], [], MODEL)


def broken(request: Request, seen: View = SEEN, **more: object) -> set[str]:
    return {violation.invariant for violation in check(request, seen, **more)}  # type: ignore[arg-type]


def with_turn(number: int, *parts: object) -> Request:
    turns = list(GOOD.messages)
    turns[number] = replace(turns[number], parts=parts)  # type: ignore[arg-type]
    return replace(GOOD, messages=tuple(turns))


def test_a_good_request_is_let_through() -> None:
    assert ensure(GOOD, SEEN, tokens=10, usable=10, former=GOOD) is GOOD


def test_a_broken_request_raises_with_the_reason() -> None:
    with pytest.raises(Broken, match="pairing: turn 2 answers"):
        ensure(with_turn(2, Text("x")), SEEN)


def test_calls_and_results_must_match_in_number_order_and_place() -> None:
    a, b, words = GOOD.messages[2].parts
    assert "pairing" in broken(with_turn(2, b, a, words))
    assert "pairing" in broken(with_turn(2, a, words))
    assert "pairing" in broken(with_turn(2, a, b, b, words))
    assert "pairing" in broken(with_turn(2, words, a, b))
    assert "pairing" in broken(with_turn(0, ToolResult("x", "y", "success", ""), Text("hi")))
    assert "pairing" in broken(replace(GOOD, messages=GOOD.messages[:2]))
    assert "pairing" in broken(with_turn(1, ToolCall("a", "read", {}), ToolCall("a", "read", {})))


def test_roles_alternate_and_nothing_is_empty() -> None:
    assert "roles" in broken(replace(GOOD, messages=GOOD.messages[1:]))
    assert "roles" in broken(replace(GOOD, messages=(*GOOD.messages, RequestMessage("user", (Text("x"),)))))
    assert "roles" in broken(with_turn(0))
    assert "roles" in broken(with_turn(0, Text("  ")))
    assert "roles" in broken(replace(GOOD, messages=()))


def test_thoughts_go_back_whole_and_unchanged() -> None:
    assert broken(with_turn(1, *GOOD.messages[1].parts[1:])) == {"thinking"}
    assert broken(with_turn(1, thought("forged"), *GOOD.messages[1].parts[1:])) == {"thinking"}


def test_kept_words_pins_system_and_tools_must_be_there() -> None:
    words = (VerbatimText(1, 1, "Never push."),)
    body = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", user_words=words)
    seen = view(history(prompt("Never push."), prompt("go"), body))
    whole = assemble(seen, ["system"], [], MODEL)
    assert broken(whole, seen) == set()
    without = replace(
        whole, messages=(replace(whole.messages[0], parts=whole.messages[0].parts[:1]), *whole.messages[1:])
    )
    assert broken(without, seen) == {"kept"}
    assert broken(GOOD, former=replace(GOOD, system=("other",))) == {"kept"}
    assert broken(GOOD, former=replace(GOOD, tools=(ToolSchema("x", "", {}),))) == {"kept"}


def test_each_of_the_verbatim_prompts_is_escaped_once_however_many_there_are() -> None:
    words = tuple(VerbatimText(-number, 1, f"prompt {number}") for number in range(50))
    body = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", user_words=words)
    seen = view(history(prompt("hi"), reply("ok"), body, prompt("more")))
    request = assemble(seen, ["system"], [], MODEL)
    with counted(escape) as calls:
        assert not check(request, seen)
    assert calls[escape] == 50


def test_a_snapshot_stands_first_or_not_at_all() -> None:
    body = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>")
    seen = view(history(prompt("a"), prompt("b"), body))
    moved = replace(seen, messages=(*seen.messages[2:], *seen.messages[:2]))
    assert "snapshot" in broken(assemble(moved, [], [], MODEL), moved)
    gone = replace(seen, messages=seen.messages[2:])
    assert "snapshot" in broken(assemble(gone, [], [], MODEL), gone)
    stale = replace(seen, compaction=None)
    assert "snapshot" in broken(assemble(stale, [], [], MODEL), stale)


def test_no_more_than_four_breakpoints_all_of_them_somewhere() -> None:
    assert broken(replace(GOOD, breakpoints=(Breakpoint(-1),) * 5)) == {"breakpoints"}
    assert broken(replace(GOOD, breakpoints=(Breakpoint(7),))) == {"breakpoints"}
    assert broken(replace(GOOD, breakpoints=(Breakpoint(0, 3),))) == {"breakpoints"}


def test_a_request_must_fit() -> None:
    assert broken(GOOD, tokens=11, usable=10) == {"size"}


def test_in_a_users_session_a_broken_request_is_mended_and_sent() -> None:
    a, b, words = GOOD.messages[2].parts
    for wrong in (
        with_turn(2, b, a, words),
        with_turn(2, words),
        with_turn(0),
        replace(GOOD, messages=GOOD.messages[1:]),
        replace(GOOD, messages=(*GOOD.messages, GOOD.messages[2])),
        replace(GOOD, breakpoints=(Breakpoint(9),) * 5),
    ):
        violations = check(wrong, SEEN)
        assert violations
        assert broken(mended(wrong, violations)) == set()
    forged = with_turn(1, thought("forged"), *GOOD.messages[1].parts[1:])
    sent = mended(forged, check(forged, SEEN))
    assert not any(isinstance(part, Thinking) for turn in sent.messages for part in turn.parts)
    assert mended(GOOD, ()) is GOOD


# What a provider would refuse is mended; what is in order comes back as it was.


def user(*parts: object) -> RequestMessage:
    return RequestMessage("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))  # type: ignore[misc]


def model(*parts: object, who: tuple[str, str] = ("anthropic", "claude-test")) -> RequestMessage:
    return RequestMessage("assistant", user(*parts).parts, *who)


def test_a_history_in_order_comes_back_as_it_was() -> None:
    turns = (user("hi"), model(thought(), call("a"), call("b")), user(result("a"), result("b"), "so?"))
    assert repair(turns, MODEL) == turns


def test_an_open_call_is_answered_with_an_error_that_says_so() -> None:
    turns = repair([user("hi"), model(call("a"), call("b")), user(result("b"), "stop")], MODEL)
    first, second, words = turns[2].parts
    assert (first.call_id, first.status, first.output) == ("a", "interrupted", INTERRUPTED)  # type: ignore[union-attr]
    assert first.failed  # type: ignore[union-attr]
    assert second == result("b")
    assert words == Text("stop")


def test_calls_left_open_at_the_end_are_answered_too() -> None:
    turns = repair([user("hi"), model(call("a"))], MODEL)
    assert [part.call_id for part in turns[-1].parts] == ["a"]  # type: ignore[union-attr]


def test_calls_left_open_before_another_reply_are_answered_in_between() -> None:
    turns = repair([user("hi"), model(call("a")), user("  "), model("sorry"), user("ok")], MODEL)
    assert [turn.role for turn in turns] == ["user", "assistant", "user", "assistant", "user"]


def test_a_result_without_its_call_goes_and_so_does_a_second_one() -> None:
    turns = repair([user("hi", result("x")), model(call("a")), user(result("a", "1"), result("a", "2"))], MODEL)
    assert turns == (user("hi"), model(call("a")), user(result("a", "1")))


def test_a_call_whose_id_was_used_before_goes_with_its_result() -> None:
    again = [user("hi"), model(call("a")), user(result("a")), model(call("a"), "x"), user(result("a"), "ok")]
    assert repair(again, MODEL)[3:] == (model("x"), user("ok"))


def test_thoughts_go_back_only_signed_and_to_the_model_that_had_them() -> None:
    turns = [
        user("hi"),
        model(thought(), Thinking("x"), "a"),
        user("b"),
        model(thought(), "c", who=("google", "g")),
        user("d"),
    ]
    assert repair(turns, MODEL)[1:4] == (model(thought(), "a"), user("b"), model("c", who=("google", "g")))
    assert repair(turns, OTHER)[1] == model("a")
    hidden = model(Thinking("", "", {"anthropic": {"data": "x"}}), "a")
    assert repair([user("hi"), hidden, user("b")], MODEL)[1] == hidden


def test_neighbours_of_one_side_become_one_turn() -> None:
    turns = repair([user("a"), user("b"), model("c"), model("d"), user("e")], MODEL)
    assert turns == (user("a", "b"), model("c", "d"), user("e"))


def test_what_says_nothing_is_dropped_but_an_empty_text_that_carries_a_signature_stays() -> None:
    signed = Text("", meta={"google": {"signature": "x"}})
    turns = [user("a"), model("b", signed), user("", " \n"), model(" "), user("c")]
    assert repair(turns, OTHER)[1] == model("b", signed)
    assert repair(turns, MODEL) == (user("a"), model("b"), user("c"))


def test_the_user_speaks_first_and_last() -> None:
    turns = repair([model("a")], MODEL)
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]
    assert turns[-1].parts == (Text(CONTINUE, True, "compactor"),)
    assert [turn.role for turn in repair([], MODEL)] == ["user"]


def test_repairing_twice_changes_nothing_more() -> None:
    turns = [model(call("a")), user(result("b")), model(thought(""), ""), user(), model(call("a"), call("c"))]
    once = repair(turns, MODEL)
    assert repair(once, MODEL) == once


# What the checker of requests says about each thing that is wrong.


def told(request: Request, **more: object) -> list[str]:
    return [str(violation) for violation in check(request, SEEN, **more)]  # type: ignore[arg-type]


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

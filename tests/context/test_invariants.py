"""The checker finds what is wrong: each invariant is broken here once."""

from dataclasses import replace

import pytest

from agentcli.context.assemble import assemble
from agentcli.context.inject import escape
from agentcli.context.invariants import Broken, check, ensure, mended
from agentcli.context.view import View, view
from agentcli.core.message import Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, Request, RequestMessage, ToolSchema
from agentcli.core.record import Compaction, VerbatimText
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.transcripts import MODEL
from tests.counted import counted

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

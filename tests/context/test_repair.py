"""What a provider would refuse is mended; what is in order comes back as it was."""

from agentcli.context.invariants import CONTINUE, INTERRUPTED, repair
from agentcli.core.message import Text, Thinking
from agentcli.core.model import RequestMessage
from tests.context.made import call, result, thought
from tests.context.transcripts import MODEL, OTHER


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

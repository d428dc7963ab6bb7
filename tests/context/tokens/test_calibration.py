"""After a compaction what stayed is counted by what the provider once reported of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.tokens.calibration import (
    HIGHEST_RATE,
    LOWEST_RATE,
    Calibration,
    Rate,
    calibrate,
    from_json,
    measured,
)
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, view
from agentcli.core.history import History, evolve, fold
from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Carry, Compaction, Prune, Record, Undo
from tests.context import realsession
from tests.tables import each_row

REAL = pytest.mark.skipif(not realsession.FILE.is_file(), reason="the recorded session is not here")


def records(*bodies: Body) -> list[Record]:
    return [Record(n, f"r{n}", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)]


def user(text: str = "hi", turn: int = 1) -> Message:
    return Message("user", (Text(text),), turn)


def step(prompt: int, call: str = "", model: str = "m", thought: str = "") -> Message:
    calls = (ToolCall(call, "read", {}),) if call else ()
    thoughts = (Thinking(thought),) if thought else ()
    return Message("assistant", (*thoughts, Text("ok"), *calls), 1, "p", model, Usage(prompt, 10), None, "end_turn")


def output(call: str, characters: int = 1_000) -> ToolResult:
    return ToolResult(call, "read", "success", "x" * characters)


def talk(after: int = 10_700, **more: str) -> list[Body]:
    """An output of 1,000 characters, which the estimate takes for some 350 tokens, is reported with 700."""
    return [
        user("first"),
        step(5_000),
        user(turn=2),
        step(10_000, "c1"),
        output("c1"),
        step(after, **more),
        user(turn=3),
    ]


def cut(**more: object) -> Compaction:
    """Keeps the second turn and all that followed."""
    return Compaction("auto", "compressed", "auto", (1, 2), 3, "<state_snapshot/>", **more)  # type: ignore[arg-type]


def counted(*bodies: Body, model: str = "m") -> tuple[int, int]:
    """The next prompt, and what the estimate alone says of it."""
    history = fold(records(*bodies))
    counter = TokenCounter(model=model)
    seen: View = view(history)
    return counter.prompt(seen), counter.view(seen)


def test_what_stayed_is_counted_as_it_was_reported() -> None:
    told, guessed = counted(*talk(), cut())
    assert 300 < told - guessed < 400
    more, _ = counted(*talk(), cut(), user("x" * 3_000, turn=4))
    assert abs(more - told - TokenCounter().part(Text("x" * 3_000))) <= 1


def test_a_report_that_cannot_be_right_is_not_believed() -> None:
    for after in (10_001, 9_000, 13_000):
        told, guessed = counted(*talk(after), cut())
        assert told == guessed


def test_what_an_edit_has_changed_is_estimated_as_it_stands_now() -> None:
    for edit in (cut(cleared=("c1",)), cut(replaced={"c1": "short"}), cut(drop_thinking_before=8)):
        told, guessed = counted(*talk(thought="t" * 400), edit)
        assert told == guessed
    told, guessed = counted(*talk(), cut(), Prune(("c1",), 300, "asked for"))
    assert told == guessed


def test_tokens_of_another_model_are_worth_what_its_own_are() -> None:
    history = fold(records(*talk(), cut()))
    counter = TokenCounter()
    counter.calibration = counter.calibration.learn("other", 100_000, 150_000, 0)
    sizes = []
    for model in ("m", "other"):
        counter.use_model(model, (), ())
        sizes.append(counter.prompt(view(history)))
    assert sizes[1] == pytest.approx(sizes[0] * counter.calibration.rate("other") / 0.34, rel=0.05)


def test_a_reply_to_another_view_says_nothing_of_this_one() -> None:
    """The second reply saw a view without the output that an undone prune had cleared."""
    bodies = [
        user("first"),
        step(10_000, "c1"),
        output("c1"),
        Prune(("c1",), 300, "asked for"),
        step(10_600),
        Undo(4, "prune"),
        user(turn=2),
    ]
    told, guessed = counted(*bodies, Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>"))
    assert told == guessed


@REAL
def test_the_first_prompt_after_each_compaction_of_a_real_session_is_within_one_percent() -> None:
    history, counter, errors = History(), TokenCounter(), []
    fresh = False
    for record in realsession.records():
        body = record.body
        if isinstance(body, Compaction):
            carry: Carry = replace(history.carry, calibration=counter.calibration.to_json())
            record, fresh = replace(record, body=replace(body, carry=carry)), True
        if isinstance(body, Message) and body.usage and body.usage.prompt:
            counter.model = body.model
            counter.learn(history)
            if fresh:
                errors.append(abs(counter.prompt(view(history)) / body.usage.prompt - 1))
                fresh = False
        history = evolve(history, record)
    assert len(errors) == 2
    assert max(errors) < 0.01


def test_nothing_is_learned_from_two_replies_between_which_outputs_were_cleared() -> None:
    def rate(*more: Body) -> float:
        counter = TokenCounter(model="m")
        counter.learn(fold(records(*talk()[:5], *more)))
        return counter.calibration.rate("m")

    cleared, untouched = Prune(("c1",), 300, "test"), TokenCounter(model="m").calibration.rate("m")
    assert rate(cleared, step(10_700)) == untouched
    assert rate(step(10_700), cleared) == rate(step(10_700)) > untouched


@each_row(("reported", "counted"), [(449, 1_000), (450, 450), (2_050, 2_050), (2_051, 1_000)])
def test_a_report_is_believed_from_half_to_twice_the_estimate_give_or_take_fifty_tokens(
    reported: int, counted: int
) -> None:
    seen = view(fold(records(user(), step(5_000), step(5_000 + reported))))
    assert measured(seen, [0, 1_000, 0], lambda _: 1.0) == counted
    doubled = view(fold(records(user(), step(5_000), step(5_000 + reported // 2))))
    if reported % 2 == 0:
        assert measured(doubled, [0, 1_000, 0], lambda _: 2.0) == counted


def lengths(body: Message | ToolResult) -> tuple[float, int]:
    """A unit for each character of text, and a block for each part."""
    if isinstance(body, ToolResult):
        return len(body.output), 1
    return sum(len(part.text) for part in body.parts if isinstance(part, Text)), len(body.parts)


def test_an_unknown_model_has_the_rate_to_begin_with_and_no_head() -> None:
    fresh = from_json({})
    assert (fresh.rate("m"), fresh.head("m")) == (pytest.approx(fresh.start), 0.0)


def test_a_rate_is_the_mean_of_what_was_seen_and_of_a_beginning_worth_5000_characters() -> None:
    fresh = from_json({})
    learned = fresh.learn("m", 1_016, 2_000, 2)
    assert learned.rates == {"m": Rate(1_000, 2_000, 0.0)}, "each block costs eight tokens beside its text"
    assert learned.rate("m") == pytest.approx((0.34 * 5_000 + 1_000) / 7_000)
    assert learned.learn("m", 500, 1_000, 0).rates == {"m": Rate(1_500, 3_000, 0.0)}
    assert learned.rate("other") == pytest.approx(0.34)


@each_row(
    ("tokens", "size", "learned"),
    [
        (100, 200, True), (100, 199, False), (LOWEST_RATE * 1_000, 1_000, False), (LOWEST_RATE * 1_000 + 1, 1_000, True),
        (HIGHEST_RATE * 1_000, 1_000, False), (HIGHEST_RATE * 1_000 - 1, 1_000, True), (-5, 1_000, False),
    ],
)  # fmt: skip
def test_only_an_addition_of_some_size_with_a_believable_rate_teaches(
    tokens: float, size: float, learned: bool
) -> None:
    fresh = from_json({})
    assert (fresh.learn("m", tokens, size, 0) is not fresh) == learned


def test_what_a_compaction_carries_is_read_without_malformed_entries() -> None:
    learned = Calibration({"m": Rate(5.0, 10.0, 3.0)})
    assert from_json(learned.to_json()).rates == learned.rates
    assert from_json({"a": [1, 2], "b": "abc", "c": (1, 2, 3), "d": {}, "e": [1, 2, 3, 4]}).rates == {
        "c": Rate(1, 2, 3)
    }


def test_the_head_is_what_the_first_prompt_has_beside_its_messages() -> None:
    learned = calibrate(fold(records(user("x" * 100), step(1_000))), lengths)
    assert learned.calibration.head("m") == pytest.approx(1_000 - 100 * 0.34 - 8)
    small = calibrate(fold(records(user("x" * 100), step(20))), lengths)
    assert small.calibration.head("m") == 0.0


def test_what_was_added_since_the_newest_reply_is_summed() -> None:
    history = fold(records(user("x" * 100), step(1_000, "c1"), output("c1", 300), user("abc", 2)))
    learned = calibrate(history, lengths)
    assert (learned.last, learned.size, learned.blocks) == ((2, 1_010), 303, 2)


def test_a_reply_that_broke_off_counts_by_what_was_received_of_it() -> None:
    for stop, expected in (
        ("interrupted", ((2, 1_000), 2, 1)),
        ("error", ((2, 1_000), 2, 1)),
        ("end_turn", ((2, 1_010), 0.0, 0)),
    ):
        broken = replace(step(1_000), stop=stop)
        learned = calibrate(fold(records(user("x" * 100), broken)), lengths)
        assert (learned.last, learned.size, learned.blocks) == expected, stop


@each_row("seen", range(1, 6))
def test_learning_may_be_interrupted_anywhere(seen: int) -> None:
    every = records(user("x" * 500), step(1_000, "c1"), output("c1", 900), step(1_400), user("y" * 300, 2), step(1_600))
    former = fold(every[:seen])
    now = former
    for record in every[seen:]:
        now = evolve(now, record)
    whole = calibrate(now, lengths)
    grown = calibrate(now, lengths, calibrate(former, lengths))
    assert (grown.calibration, grown.last, grown.size, grown.blocks) == (
        whole.calibration,
        whole.last,
        whole.size,
        whole.blocks,
    )
    assert whole.calibration.rates["m"].size == 1_200

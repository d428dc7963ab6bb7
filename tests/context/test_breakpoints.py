"""Places at which a request's cache ends, by what the next request may expect to read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.assemble import breakpoints
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.core.message import Part, Text, Thinking, ToolResult
from agentcli.core.model import Breakpoint, ModelSpec, RequestMessage

MODEL = ModelSpec("p", "m", cache_minimum=100, cache_lookback=5)


def message(*parts: Part | ToolResult) -> RequestMessage:
    return RequestMessage("user", parts)


def words(tokens: int, parts: int = 1) -> RequestMessage:
    return message(*[Text("x" * (4 * tokens // parts))] * parts)


def output(tokens: int) -> RequestMessage:
    return message(ToolResult("c", "read", "success", "x" * (4 * tokens)))


def places(
    *messages: RequestMessage, head: int = 0, model: ModelSpec = MODEL, milestone: int = 50
) -> list[tuple[int, int]]:
    sizes = TokenCounter(Chars4()).sizes(messages)
    return [(place.message, place.part) for place in breakpoints(messages, head, model, sizes, milestone)]


def numbers(*messages: RequestMessage, head: int = 0, model: ModelSpec = MODEL, milestone: int = 50) -> list[int]:
    return [number for number, _ in places(*messages, head=head, model=model, milestone=milestone)]


def test_a_prefix_is_worth_a_place_from_the_size_that_the_model_caches() -> None:
    assert numbers(words(40), words(40), head=100) == [-1, 0, 1]
    assert numbers(words(40), words(40), head=99) == [0, 1]
    assert numbers(words(60), words(40)) == [1]
    assert numbers(words(60), words(39)) == []
    assert numbers(head=100) == [-1]


def test_the_newest_two_messages_have_a_place_and_the_one_before_them_only_if_a_lookup_does_not_reach_it() -> None:
    long = words(200)
    for newest in range(1, 8):
        reached = [-1, 3, 4] if newest + 1 < MODEL.cache_lookback else [-1, 2, 3, 4]
        assert numbers(long, long, words(200, 40), long, words(200, newest), head=200) == reached


def test_an_output_has_a_place_from_the_size_of_a_milestone_if_it_is_older_than_the_newest_two_messages() -> None:
    talk = [words(200)] * 3
    assert numbers(words(200), output(50), *talk, head=200) == [-1, 1, 3, 4]
    assert numbers(words(200), output(49), *talk, head=200) == [-1, 3, 4]
    assert numbers(output(50), output(50), output(49), *talk, head=200) == [-1, 1, 4, 5], "the newest of them"
    assert numbers(output(50), words(200), output(50), words(200), head=200) == [-1, 0, 2, 3]
    assert numbers(words(200), output(50), words(200), words(200), head=200) == [-1, 1, 2, 3]
    assert numbers(output(50), words(200), words(200), output(50), head=200) == [-1, 0, 2, 3]


SNAPSHOT = message(Text("x" * 800, True, "compactor"))


def test_no_more_than_four_places_are_taken_those_of_the_most_expected_tokens() -> None:
    # The system is worth its tokens, the output nine tenths of those up to it, the snapshot and the newest two messages more.
    session = [SNAPSHOT, output(50), words(200), words(200), words(200)]
    assert numbers(*session, head=2_240) == [0, 1, 3, 4], "2 240 are less than nine tenths of 2 490"
    assert numbers(*session, head=2_260) == [-1, 0, 3, 4], "2 260 are more than nine tenths of 2 510"


def test_a_place_is_in_the_last_part_that_may_carry_it() -> None:
    thought, nothing, text = Thinking("x" * 400, "s"), Text(""), Text("x" * 400)
    assert places(message(text, text)) == [(0, 1)]
    assert places(message(text, thought)) == places(message(text, nothing)) == [(0, 0)]
    assert places(message(nothing, text, thought, nothing)) == [(0, 1)]
    assert places(message(thought)) == places(message(nothing, thought)) == []
    assert places(output(100)) == [(0, 0)]


def test_a_summary_that_only_its_provider_reads_counts_from_the_message_after_it() -> None:
    summary = message(Text("x" * 800, True, "compactor", {"anthropic": {"type": "compaction"}}))
    talk = [words(200)] * 4
    assert numbers(words(200), summary, *talk) == [2, 4, 5]
    assert numbers(words(200), words(200), summary) == [1, 2]


@pytest.mark.parametrize("messages", [(), (words(200),)])
def test_a_provider_that_caches_by_itself_needs_none(messages: tuple[RequestMessage, ...]) -> None:
    assert numbers(*messages, head=200)[:1] == [-1]
    assert numbers(*messages, head=200, model=replace(MODEL, cache_explicit=False)) == []


def test_a_place_is_counted_once() -> None:
    assert numbers(SNAPSHOT) == [0]
    assert breakpoints((), 100, MODEL, TokenCounter().sizes(())) == (Breakpoint(-1),)

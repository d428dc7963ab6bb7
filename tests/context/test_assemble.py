"""Requests: injections, pictures, and where the cache ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.assemble import Assembler, assemble, breakpoints
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.core.mcp_servers import LOADED, SEARCH
from agentcli.core.message import Image, Message, Part, Text, Thinking, ToolResult
from agentcli.core.model import Breakpoint, ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.core.record import Compaction, Prune, Undo
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.transcripts import MODEL, OTHER
from tests.tables import each_row

BIG = "word " * 3_000
NOTE = Text("it rains", True, "reminder")
WRAPPED = Text("<system-reminder>\nit rains\n</system-reminder>", True, "reminder")


def request(*bodies: object, system: str = BIG, model: object = MODEL) -> Request:
    return assemble(view(history(*bodies)), [system], [], model)  # type: ignore[arg-type]


def test_a_recorded_injection_stands_between_results_and_words() -> None:
    asked = (prompt("hi"), reply(call("a")), result("a"), Message("user", (NOTE,), 1))
    assert request(*asked).messages[-1].parts == (result("a"), WRAPPED)
    assert request(*asked, prompt("and")).messages[-1].parts == (result("a"), WRAPPED, Text("and"))


def test_a_model_without_eyes_is_told_of_each_picture() -> None:
    blind = replace(MODEL, images=False)
    picture = Image("image/png", "xx", "a.png")
    seen = ToolResult("a", "read", "success", "", images=(picture,))
    turns = request(prompt("hi", 1, picture), reply(call("a")), seen, model=blind).messages
    assert turns[0].parts[0] == Text("[image/png image a.png left out: this model takes no images]", True, "compactor")
    assert turns[2].parts == (
        ToolResult("a", "read", "success", "[image/png image left out: this model takes no images]"),
    )


def test_an_output_is_changed_only_for_a_picture_that_the_model_cannot_see() -> None:
    plain = result("a", "  out  ")
    seen = ToolResult("a", "read", "success", "out", images=(Image("image/png", "xx"), Image("image/gif", "yy")))

    def sent(output: ToolResult, images: bool) -> object:
        return request(prompt("hi"), reply(call("a")), output, model=replace(MODEL, images=images)).messages[2].parts[0]

    assert [sent(plain, images) for images in (True, False)] == [plain, plain]
    assert sent(seen, images=True) == seen
    told = "out\n[image/png image left out: this model takes no images]\n[image/gif image left out: this model takes no images]"
    assert sent(seen, images=False) == replace(seen, output=told, images=())


def test_a_message_of_the_user_is_wrapped_for_the_model_that_it_is_sent_to() -> None:
    picture = Image("image/png", "xx", "a.png")
    seen, assembler = view(history(prompt("hi", 1, picture, NOTE))), Assembler()

    def parts(model: ModelSpec) -> tuple[object, ...]:
        made = assembler.assemble(
            seen, [BIG], [], model, options={}, max_output=1_000, counter=TokenCounter(), milestone=2_000
        )
        return made.messages[0].parts

    blind = replace(MODEL, images=False)
    first = parts(MODEL)
    assert (WRAPPED, picture) == first[:2]
    assert isinstance(parts(blind)[1], Text)
    assert parts(MODEL) == first
    assert [one is other for one, other in zip(parts(MODEL), parts(MODEL), strict=True)] == [True] * len(first)


def test_the_cache_ends_after_the_system_and_the_newest_messages() -> None:
    made = request(prompt(BIG), reply(call("a")), result("a", BIG), reply("done"), prompt("more", 2))
    assert made.breakpoints == (Breakpoint(-1), Breakpoint(2, 0), Breakpoint(3, 0), Breakpoint(4, 0))


def test_a_breakpoint_is_not_spent_on_less_than_the_model_caches() -> None:
    assert request(prompt("hi"), system="short").breakpoints == ()
    made = request(prompt("hi"), reply("yes"), prompt(BIG), system="short")
    assert made.breakpoints == (Breakpoint(2, 0),)


def test_no_breakpoints_for_a_provider_that_caches_by_itself() -> None:
    implicit = replace(OTHER, cache_explicit=False)
    assert request(prompt(BIG), reply("yes"), prompt(BIG), model=implicit).breakpoints == ()


def test_a_snapshot_is_a_milestone() -> None:
    body = Compaction("auto", "compressed", "auto", (1, 1), 2, f"<state_snapshot>{BIG}</state_snapshot>")
    talk = [part for n in range(4) for part in (prompt(f"p{n}", n + 2), reply("ok"))]
    made = request(prompt("a"), prompt("b"), body, *talk, prompt("last", 9))
    assert Breakpoint(0, 0) in made.breakpoints
    assert len(made.breakpoints) == 4


def test_a_step_longer_than_the_look_back_finds_the_end_of_the_request_before_it() -> None:
    former = (prompt(BIG), reply(call("x")), result("x", BIG))
    calls = [call(f"c{n}") for n in range(12)]
    made = request(*former, reply(*calls), *(result(f"c{n}") for n in range(12)))
    before = request(*former).breakpoints[-1]
    assert before == Breakpoint(2, 0)
    assert before in made.breakpoints
    # From the newest breakpoint back to the former one there are more blocks than a lookup passes.
    assert len(made.messages[3].parts) + len(made.messages[4].parts) > MODEL.cache_lookback


def test_the_request_after_an_edit_has_a_place_before_the_first_changed_message() -> None:
    steps = [each for n in range(6) for each in (reply(call(f"c{n}")), result(f"c{n}", BIG))]
    places = [point.message for point in request(prompt("hi"), *steps, Prune(("c3", "c2"), 0, "test")).breakpoints]
    assert 5 in places
    assert len(places) == 4
    later = (prompt("hi"), *steps, Prune(("c3", "c2"), 0, "test"), reply("so"), prompt("and", 2))
    by_provider = (prompt("hi"), *steps, Prune(("c3", "c2"), 0, "test", by="provider"))
    for bodies in (later, by_provider):
        assert 5 not in [point.message for point in request(*bodies).breakpoints]


def test_a_breakpoint_never_falls_on_a_thought() -> None:
    made = request(prompt(BIG), reply("said"), prompt("x"))
    for place in made.breakpoints:
        assert place.message == -1 or isinstance(made.messages[place.message].parts[place.part], Text)


def test_the_reply_is_given_what_the_model_can_write_and_no_more_than_asked() -> None:
    assert request(prompt("hi")).max_output == 32_000
    assert request(prompt("hi"), model=replace(MODEL, max_output=8_000)).max_output == 8_000
    assert request(prompt("hi"), model=replace(MODEL, window=16_000)).max_output == 8_000
    assert request(prompt("hi"), model=replace(MODEL, window=8_000)).max_output == 2_000


def test_counting_with_the_sessions_counts_changes_nothing_but_the_time() -> None:
    seen = view(history(prompt(BIG), reply("a"), prompt("b")))
    tools = [ToolSchema("read", "d", {"type": "object"})]
    assert assemble(seen, [BIG], tools, MODEL, counter=TokenCounter()) == assemble(seen, [BIG], tools, MODEL)


def test_thoughts_had_on_a_view_that_was_taken_back_are_kept_from_a_model_that_binds_them() -> None:
    talk = (prompt("one"), reply(thought("early"), "a"), prompt("two", 2))
    compaction = Compaction("manual", "compressed", "auto", (1, 2), 3, "<state_snapshot/>", drop_thinking_before=4)
    meanwhile = (reply(thought("meanwhile"), "b", turn=2), prompt("three", 3))
    undone = (*talk, compaction, *meanwhile, Undo(4), reply(thought("late"), "c", turn=3), prompt("four", 4))

    def thoughts(model: ModelSpec) -> list[str]:
        turns = request(*undone, model=model).messages
        return [part.signature for turn in turns for part in turn.parts if isinstance(part, Thinking)]

    assert thoughts(MODEL) == ["early", "meanwhile", "late"]
    assert thoughts(replace(MODEL, preserved_thinking=True)) == ["early", "late"]


def test_thoughts_come_back_valid_when_a_compaction_is_taken_back_and_made_again() -> None:
    talk = (prompt("one"), reply("a"), prompt("two", 2))
    compaction = Compaction("manual", "compressed", "auto", (1, 2), 3, "<state_snapshot/>")
    compacted = (reply(thought("compacted"), "b", turn=2), prompt("three", 3))
    restored = (reply(thought("restored"), "c", turn=3), prompt("four", 4))
    again = (*talk, compaction, *compacted, Undo(4), *restored, Undo(7, "undo"))
    turns = request(*again, model=replace(MODEL, preserved_thinking=True)).messages
    sent = [part.signature for turn in turns for part in turn.parts if isinstance(part, Thinking)]
    assert sent == ["compacted"]


@each_row(
    ("deferred", "tools", "found"),
    [(True, [SEARCH], ["mcp__s__x"]), (True, ["read"], []), (False, [SEARCH], []), (True, [], []), (True, ["read", SEARCH], ["mcp__s__x"])],
)  # fmt: skip
def test_tools_that_a_search_found_are_deferred_where_the_model_searches(
    deferred: bool, tools: list[str], found: list[str]
) -> None:
    loads = {LOADED: [{"name": "mcp__s__x", "description": "d", "parameters": {}}]}
    searched = replace(result("a", name=SEARCH), metadata=loads)
    seen = view(history(prompt("hi"), reply(call("a", SEARCH)), searched))
    schemas = [ToolSchema(name, "d", {}) for name in tools]
    made = assemble(seen, [], schemas, replace(MODEL, deferred_tools=deferred))
    assert [tool.name for tool in made.deferred] == found


def test_an_output_is_a_milestone_from_two_thousand_tokens() -> None:
    def made(tokens: int) -> tuple[Breakpoint, ...]:
        talk = (prompt("hi"), reply(call("a")), result("a", "x" * 4 * tokens), reply("b"), prompt("c", 2))
        return assemble(view(history(*talk)), [BIG], [], MODEL, counter=TokenCounter(Chars4())).breakpoints

    assert Breakpoint(2, 0) in made(2_000)
    assert Breakpoint(2, 0) not in made(1_999)


# Places at which a request's cache ends, by what the next request may expect to read.


CACHED = ModelSpec("p", "m", cache_minimum=100, cache_lookback=5)


def message(*parts: Part | ToolResult) -> RequestMessage:
    return RequestMessage("user", parts)


def words(tokens: int, parts: int = 1) -> RequestMessage:
    return message(*[Text("x" * (4 * tokens // parts))] * parts)


def output(tokens: int) -> RequestMessage:
    return message(ToolResult("c", "read", "success", "x" * (4 * tokens)))


def places(
    *messages: RequestMessage, head: int = 0, model: ModelSpec = CACHED, milestone: int = 50
) -> list[tuple[int, int]]:
    sizes = TokenCounter(Chars4()).sizes(messages)
    return [(place.message, place.part) for place in breakpoints(messages, head, model, sizes, milestone)]


def numbers(*messages: RequestMessage, head: int = 0, model: ModelSpec = CACHED, milestone: int = 50) -> list[int]:
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
        reached = [-1, 3, 4] if newest + 1 < CACHED.cache_lookback else [-1, 2, 3, 4]
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
    assert numbers(*messages, head=200, model=replace(CACHED, cache_explicit=False)) == []


def test_a_place_is_counted_once() -> None:
    assert numbers(SNAPSHOT) == [0]
    assert breakpoints((), 100, CACHED, TokenCounter().sizes(())) == (Breakpoint(-1),)

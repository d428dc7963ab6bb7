"""What the model sees: order within a message, compactions of every form, prunes, pins and dropped thoughts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import Assembler, assemble
from agentcli.context.cleared import CLEARED
from agentcli.context.invariants import Passed, check
from agentcli.context.pruning.blocks import Supersession, ViewBlocks
from agentcli.context.pruning.plan import TokenLayout, candidates
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.calibration import calibrate
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import ACKNOWLEDGED, GO_ON, GO_ON_SHORTENED, Lens, View, grown, replaced_key, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.message import File, Image, Text, ToolCall, ToolResult
from agentcli.core.model import RequestMessage
from agentcli.core.record import Body, Compaction, Editor, Pin, Prune, Record, Undo, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.context.made import call, prompt, records, reply, result, thought
from tests.context.made import history as made
from tests.context.transcripts import MODEL, OTHER, Session, sessions
from tests.counted import counted
from tests.tables import each_row

SNAPSHOT = "<state_snapshot>what was done</state_snapshot>"


def texts(view: View) -> list[list[str]]:
    return [[message.role, *(_text(block.part) for block in message.blocks)] for message in view.messages]


def _text(part: object) -> str:
    match part:
        case ToolResult(output=output):
            return output
        case Text(text):
            return text
        case _:
            return type(part).__name__


def compaction(kept_from: int, policy: str = "auto", **more: object) -> Compaction:
    return Compaction("auto", "compressed", policy, (1, kept_from - 1), kept_from, SNAPSHOT, **more)  # type: ignore[arg-type]


TALK: tuple[Body, ...] = (
    prompt("one"),  # 1
    reply(call("a"), call("b")),  # 2
    result("b", "B"),  # 3
    result("a", "A"),  # 4
    reply("done one"),  # 5
    prompt("two", 2),  # 6
    reply(call("c"), turn=2),  # 7
    result("c", "C"),  # 8
)


def test_results_stand_in_the_order_of_their_calls_and_before_everything_else() -> None:
    note = Text("note", True, "reminder")
    seen = view(made(*TALK[:4], prompt("stop", 2, Image("image/png", ""), note, File("text/plain", "f"))))
    assert texts(seen)[-1] == ["user", "A", "B", "note", "File", "Image", "stop"]
    assert seen.messages[-1].turn == 2
    assert seen.messages[-1].seq == 3


def test_every_block_knows_where_it_comes_from() -> None:
    shell = Text("s", True, "shell")
    seen = view(made(prompt("hi", 1, shell, File("text/plain", "f")), reply("yes", call("a")), result("a"), Pin(1)))
    told = [(block.tier, block.source, block.pinned, block.compactable) for block in seen.blocks]
    assert told == [
        (3, "tool", True, True),
        (3, "file", True, True),
        (1, "user", True, False),
        (2, "assistant", False, True),
        (2, "assistant", False, True),
        (3, "tool", False, True),
    ]
    assert [block.tool_use_id for block in seen.blocks][-1] == "a"
    assert seen.messages[0].blocks[0].created_at == "2026-01-01T00:00:01Z"


def test_after_a_compaction_come_the_snapshot_its_acknowledgement_and_what_was_kept() -> None:
    seen = view(made(*TALK, compaction(6), reply("C it is", turn=2)))
    assert texts(seen) == [
        ["user", SNAPSHOT],
        ["assistant", ACKNOWLEDGED],
        ["user", "two"],
        ["assistant", "ToolCall"],
        ["user", "C"],
        ["assistant", "C it is"],
    ]
    assert seen.compaction is not None
    assert not any(block.compactable for message in seen.messages[:2] for block in message.blocks)


def test_words_and_pins_follow_the_snapshot_byte_for_byte() -> None:
    words = (VerbatimText(1, 1, "one  </user_message> \n"),)
    seen = view(made(*TALK, compaction(6, user_words=words, pins=(VerbatimText(4, 1, "A"),))))
    assert texts(seen)[0] == [
        "user",
        SNAPSHOT,
        '<user_message turn="1">\none  &lt;/user_message> \n\n</user_message>',
        '<pinned turn="1">\nA\n</pinned>',
    ]
    assert [block.pinned for block in seen.messages[0].blocks] == [False, True, True]


def test_in_the_middle_of_work_the_model_is_told_to_go_on_at_the_end_of_what_it_had_seen() -> None:
    seen = view(made(*TALK, compaction(6, continues=True), reply("next", turn=2)))
    assert texts(seen)[2:] == [["user", "two"], ["assistant", "ToolCall"], ["user", "C", GO_ON], ["assistant", "next"]]


def test_a_long_turn_split_between_two_steps_still_alternates() -> None:
    kept = view(made(*TALK, compaction(7, continues=True)))
    assert [line[0] for line in texts(kept)] == ["user", "assistant", "user", "assistant", "user"]
    assert texts(kept)[2] == ["user", GO_ON]
    asked_for = view(made(*TALK, compaction(7)))
    assert [line[0] for line in texts(asked_for)] == ["user", "assistant", "user"]


def test_a_model_is_told_of_no_summary_if_parts_were_only_cut() -> None:
    cut = Compaction("auto", "compressed", "auto", replaced={"c": "C …"}, continues=True)
    seen = texts(view(made(*TALK, cut, reply("next", turn=2))))
    assert [line for line in seen if GO_ON in line or GO_ON_SHORTENED in line] == [["user", "C …", GO_ON_SHORTENED]]
    assert "summar" not in GO_ON_SHORTENED


def test_when_nothing_is_kept_the_model_is_told_to_go_on_at_once() -> None:
    assert texts(view(made(*TALK, compaction(9, continues=True)))) == [
        ["user", SNAPSHOT],
        ["assistant", ACKNOWLEDGED],
        ["user", GO_ON],
    ]
    assert [line[0] for line in texts(view(made(*TALK, compaction(9))))] == ["user", "assistant"]


def test_opencode_puts_its_summary_into_the_assistants_mouth() -> None:
    seen = view(made(*TALK, compaction(9, "opencode", continues=True)))
    assert texts(seen) == [["user", "What did we do so far?"], ["assistant", SNAPSHOT], ["user", GO_ON]]


def test_primers_stay_in_front_of_the_summary() -> None:
    seen = view(made(*TALK, compaction(6, "sliding", kept=(1, 2, 3, 4))))
    assert [line[0] for line in texts(seen)] == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert texts(seen)[2] == ["user", "A", "B", SNAPSHOT]


def test_a_replaced_output_shows_its_summary_and_keeps_its_call() -> None:
    body = Compaction("auto", "compressed", "regions", replaced={"a": "[compacted summary of turns 1-1]\nshort"})
    seen = view(made(*TALK, body))
    assert texts(seen)[2] == ["user", "[compacted summary of turns 1-1]\nshort", "B"]
    assert [block.compactable for block in seen.messages[2].blocks] == [False, True]


def test_a_cleared_output_names_its_call_for_recall() -> None:
    seen = view(made(*TALK, Prune(("b",), 5, "test")))
    shown = seen.messages[2].blocks[1]
    assert isinstance(shown.part, ToolResult)
    marker, line = shown.part.output.split("\n")
    assert marker == CLEARED == "[Old tool result content cleared]"
    assert '"b"' in line
    assert shown.cleared


def test_a_cleared_output_looks_the_same_object_each_time_so_that_it_is_counted_once() -> None:
    past = made(*TALK, Prune(("b",), 5, "test"))
    assert list(view(past).blocks)[4].part is list(view(past).blocks)[4].part


def test_a_prune_makes_only_the_messages_anew_that_it_edits() -> None:
    past = made(*TALK)
    before, pruned = view(past), evolve(past, Record(9, "", "", "", Prune(("b",), 5, "test")))
    seen = grown(pruned, past, before)
    assert seen == view(pruned)
    assert [new is old for new, old in zip(seen.messages, before.messages, strict=True)] == [
        "b" not in {block.tool_use_id for block in message.blocks} for message in before.messages
    ]


def test_the_provider_clears_the_result_of_a_call_whose_input_it_clears() -> None:
    past = made(*TALK)
    pruned = evolve(past, Record(9, "", "", "", Prune((), 5, "test", inputs=("b",), by="provider")))
    assert grown(pruned, past, view(past)) == view(pruned)


def test_the_calls_of_a_reply_are_looked_at_one_by_one_only_where_inputs_are_cleared() -> None:
    for edits, times in ((), 0), ((Prune((), 5, "test", inputs=("b",)),), 4):
        past = made(*TALK, *edits)
        with counted(Lens.spoken) as calls:
            view(past)
        assert calls[Lens.spoken] == times


@pytest.mark.parametrize("edit", [Prune(("a",), 1, "test", 5), compaction(1, drop_thinking_before=5)])
def test_an_edit_drops_the_thoughts_that_it_invalidates_and_no_later_ones(edit: Body) -> None:
    bodies = (prompt("one"), reply(thought("1"), call("a")), result("a"), reply(thought("2"), "x"), prompt("two", 2))
    seen = view(made(*bodies, edit, reply(thought("3"), "y", turn=2)))
    assert [_text(block.part) for block in seen.blocks].count("Thinking") == 1
    assert _text(seen.messages[-1].blocks[0].part) == "Thinking"


def test_an_undo_shows_everything_as_it_was() -> None:
    plain = view(made(*TALK))
    assert view(made(*TALK, Prune(("a", "b"), 9, "test"), Undo(9, "prune"))).messages == plain.messages
    assert view(made(*TALK, compaction(6), Undo(9))).messages == plain.messages


def test_an_undone_compaction_gives_back_an_earlier_one() -> None:
    once = made(*TALK, compaction(3))
    assert view(made(*TALK, compaction(3), compaction(6), Undo(10))) == view(once)


def test_a_snapshot_names_the_records_that_it_stands_for() -> None:
    body = Compaction("auto", "compressed", "sliding", (4, 9), 10, "so far", stands_for=(1, 9))
    shown = view(made(prompt("Go."), body))
    [_, snapshot, line] = texts(shown)[0]
    assert snapshot == "so far"
    assert line == '[This stands for records 1 to 9. recall(pattern="…", from=1, to=9) finds what it leaves out.]'
    old = view(made(prompt("Go."), replace(body, stands_for=(0, 0))))
    assert len([*old.blocks]) == len([*shown.blocks]) - 1


def test_only_what_a_tool_or_a_reminder_said_can_be_replaced_by_a_summary_of_its_own() -> None:
    note = Text("note", True, "reminder")
    seen = view(made(prompt("one", 1, note), reply("said", call("a")), result("a", "A")))
    keys = {_text(block.part): replaced_key(block) for block in seen.blocks if not isinstance(block.part, ToolCall)}
    assert keys == {"note": "#1", "one": "", "said": "", "A": "a"}


@pytest.mark.parametrize("kind", ["outputs", "inputs"])
def test_an_id_that_a_server_uses_again_after_a_compaction_is_not_cleared(kind: str) -> None:
    gone = {"cleared": ("a",)} if kind == "outputs" else {"cleared_inputs": ("a",)}
    before = made(*TALK, compaction(6, **gone))
    again = (reply(call("a", file_path="new.py"), turn=2), result("a", "fresh"))
    after = before
    for number, body in enumerate(again, 10):
        after = evolve(after, Record(number, "", "2026-01-01T00:01:00Z", "", body))
    seen = view(after)
    assert [block.part.output for block in seen.blocks if isinstance(block.part, ToolResult)][-1] == "fresh"
    assert [block.part.input for block in seen.blocks if isinstance(block.part, ToolCall)][-1] == {
        "file_path": "new.py"
    }
    # What stays in view stays cleared.
    kept = {"cleared": ("c",)} if kind == "outputs" else {"cleared_inputs": ("c",)}
    stays = made(*TALK, compaction(6, **kept))
    assert dict(stays.cleared if kind == "outputs" else stays.cleared_inputs) == {"c": 9}


def test_nothing_said_is_nothing_seen() -> None:
    assert texts(view(made())) == []
    assert view(made()).compaction is None


def test_results_without_their_reply_keep_their_order() -> None:
    assert texts(view(made(result("b", "B"), result("a", "A"), prompt("x")))) == [["user", "B", "A", "x"]]


def test_a_message_of_the_user_has_the_turn_of_the_reply_before_it_unless_its_own_is_later() -> None:
    seen = view(made(prompt("one"), reply(call("a"), turn=3), result("a"), reply("x", turn=3), prompt("two", 4)))
    assert [(message.role, message.turn) for message in seen.messages] == [
        ("user", 1), ("assistant", 3), ("user", 3), ("assistant", 3), ("user", 4),
    ]  # fmt: skip


def test_a_reply_that_was_interrupted_is_cut() -> None:
    whole = reply("x")
    stops = ["end_turn", "tool_use", "max_tokens", "interrupted", "error", None]
    seen = [view(made(prompt("one"), replace(whole, stop=stop))).messages[-1].cut for stop in stops]
    assert seen == [False, False, False, True, True, True]


def test_a_snapshot_of_another_form_names_its_records_only_if_it_stands_for_any() -> None:
    other = replace(compaction(6), snapshot="summary", stands_for=(2, 5))
    line = '[This stands for records 2 to 5. recall(pattern="…", from=2, to=5) finds what it leaves out.]'
    assert texts(view(made(*TALK[:5], prompt("two", 2), other)))[0] == ["user", "summary", line]
    none = replace(other, stands_for=(0, 0))
    assert texts(view(made(*TALK[:5], prompt("two", 2), none)))[0] == ["user", "summary"]


def test_what_a_compaction_carries_is_pinned_by_its_tier() -> None:
    words = VerbatimText(1, 1, "do it")
    body = replace(compaction(6), user_words=(words,), pins=(words,), answer=VerbatimText(5, 1, "done"))
    seen = view(made(*TALK[:5], prompt("two", 2), body))
    told = [(block.tier, block.pinned, block.compactable) for block in seen.messages[0].blocks]
    assert told == [(3, False, False), (1, True, False), (3, True, False), (2, True, False)]
    assert texts(seen)[1] == ["assistant", ACKNOWLEDGED]


def test_a_thought_from_before_an_undo_is_bound_to_the_view_that_it_was_made_in() -> None:
    seen = replace(view(made(prompt("one"), reply(thought(), "x"), reply(thought(), "y"))), undone=((1, 3),))
    bound = [(block.seq, seen.is_bound(block)) for block in seen.blocks]
    assert bound == [(1, False), (2, True), (2, False), (3, False), (3, False)]


@each_row(
    "added",
    [
        (), (prompt("more", 3),), (reply("x", turn=2),), (reply(call("d"), turn=2), result("d")), (Prune(("a",), 5, "x"),),
        (Prune(("a",), 5, "x"), prompt("more", 3)), (Prune((), 5, "x", inputs=("a",)),), (Prune(("a",), 5, "x", drop_thinking_before=3),), (Pin(1),), (compaction(6),), (compaction(6), reply("x", turn=2)),
    ],
)  # fmt: skip
def test_a_view_that_grows_is_the_one_made_anew(added: tuple[Body, ...]) -> None:
    former = made(*TALK)
    now = former
    for record in [Record(len(TALK) + n, f"n{n}", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(added, 1)]:
        now = evolve(now, record)
    assert texts(grown(now, former, view(former))) == texts(view(now))


def test_a_view_that_does_not_change_is_the_same_object() -> None:
    former = made(*TALK)
    seen = view(former)
    assert grown(former, former, seen) is seen


# What is kept from one request to the next gives the same as if it were made anew, whatever happens to the session between them.


LOOKS = st.lists(st.booleans(), min_size=60, max_size=60)


def live(records: Sequence[Record]) -> Iterator[History]:
    """The history after each record, as an open session has it."""
    history = History()
    for count, record in enumerate(records, 1):
        try:
            history = evolve(history, record)
        except NeedsReplay:
            history = fold(records[:count])
        yield history


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.sampled_from([None, "", "provider"]))
def test_a_view_that_grew_is_the_view_of_the_whole(session: Session, looks: list[bool], by: Editor | None) -> None:
    former = History()
    seen = view(former)
    records = session.records if by is None else [_with_prunes_by(by, record) for record in session.records]
    for history, looked in zip(live(records), looks * 9, strict=False):
        if looked:
            seen, former = grown(history, former, seen), history
            assert seen == view(history)


def _with_prunes_by(by: Editor, record: Record) -> Record:
    """The record; a prune is one that leaves all thoughts, and the provider's restores some of the calls that it clears."""
    body = record.body
    if not isinstance(body, Prune):
        return record
    restored = body.call_ids[::2] if by else ()
    outcomes = dict.fromkeys(body.call_ids[:1], "exit code 1")
    return replace(record, body=Prune(body.call_ids, 10, "test", 0, body.inputs, outcomes, by, restored))


@settings(max_examples=100)
@given(sessions(), LOOKS)
def test_a_calibration_that_went_on_is_that_of_the_whole(session: Session, looks: list[bool]) -> None:
    counter, learned = TokenCounter(), None
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            learned = calibrate(history, counter._added, learned)
            assert learned == calibrate(history, counter._added)


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.booleans())
def test_a_request_that_went_on_from_the_one_before_is_that_of_the_whole(
    session: Session, looks: list[bool], bound: bool
) -> None:
    counter, assembler, passed = TokenCounter(), Assembler(), Passed()
    for number, (history, looked) in enumerate(zip(live(session.records), looks * 9, strict=False)):
        if not looked:
            continue
        model = OTHER if number % 7 == 6 else replace(MODEL, preserved_thinking=bound)
        counter.learn(history)
        seen = view(history)
        more = {"options": {}, "max_output": 1_000, "counter": counter, "milestone": 700}
        request = assembler.assemble(seen, ("system",), (), model, **more)  # type: ignore[arg-type]
        assert request == assemble(seen, ("system",), (), model, **more)  # type: ignore[arg-type]
        assert check(request, seen, passed=passed) == check(request, seen) == ()
        assert counter.prompt(seen) == same_counter(history).prompt(seen)


@settings(max_examples=100)
@given(sessions(), LOOKS)
def test_what_is_out_of_date_is_the_same_in_a_view_that_grew(session: Session, looks: list[bool]) -> None:
    known = Supersession()
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            seen = view(history)
            known.of(seen, TRAITS)
            whole = Supersession().of(seen, TRAITS)
            assert (known.outputs, known.pointed_at) == (whole.outputs, whole.pointed_at)


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.integers(0, 2))
def test_what_could_be_cleared_is_the_same_in_a_view_that_grew(session: Session, looks: list[bool], turns: int) -> None:
    rules = PruneSettings(auto_protect=40, smallest=1, auto_turns=turns)
    limits = limits_of(replace(MODEL, preserved_thinking=turns == 1), ContextSettings())
    counter, known = TokenCounter(), ViewBlocks()
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            counter.learn(history)
            window = Window(view(history), limits, counter, ContextSettings(prune=rules), TRAITS)
            grown_layout, whole = TokenLayout(replace(window, laid_out=known)), TokenLayout(window)
            assert candidates(grown_layout) == candidates(whole)
            places = (grown_layout.total, grown_layout.thoughts, grown_layout.first_thought)
            assert places == (whole.total, whole.thoughts, whole.first_thought)


def same_counter(history: History) -> TokenCounter:
    counter = TokenCounter()
    counter.learn(history)
    return counter


def test_a_request_that_is_broken_later_is_found_though_its_beginning_passed() -> None:
    seen = view(fold([Record(1, "r1", "2026-01-01T00:00:01Z", "", prompt("hi"))]))
    passed, good = Passed(), assemble(seen, (), (), MODEL)
    assert check(good, seen, passed=passed) == ()
    more = replace(good, messages=(*good.messages, RequestMessage("assistant", (ToolCall("a", "read", {}),))))
    longer = replace(seen, messages=(*seen.messages, seen.messages[0]))
    assert {found.invariant for found in check(more, longer, passed=passed)} == {"pairing", "roles"}


def test_a_view_without_new_records_stays_the_same_object() -> None:
    history = next(live([Record(1, "r1", "2026-01-01T00:00:01Z", "", prompt("hi"))]))
    seen = view(history)
    assert grown(history, history, seen) is seen


def test_a_view_grows_from_a_compaction_on_that_kept_something() -> None:
    bodies = (prompt("hi"), reply("ho"), prompt("more", 2), reply("ok", turn=2))
    summary = Compaction("auto", "compressed", "auto", (1, 2), 3, "<state_snapshot>s</state_snapshot>")
    kept, answered = list(live(records(*bodies, summary, reply("again", turn=2))))[-2:]
    seen = view(kept)
    with counted(Lens.message) as calls:
        assert grown(answered, kept, seen).messages[: len(seen.messages)] == seen.messages
    assert calls[Lens.message] == 2  # that of the newest record, which must not be empty, and that of the new one

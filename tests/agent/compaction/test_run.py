import asyncio
import json
import re
from dataclasses import replace

from agentcli.agent.compaction.run import truncated, without_model
from agentcli.context.compaction.record import REPEATED
from agentcli.context.compaction_settings import HandoffSettings, SnapshotSettings
from agentcli.context.ledger.ledger import from_json
from agentcli.context.room import preview
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.form import TRUNCATED, parse, uncited
from agentcli.context.snapshot.verify import CONTRADICTED, MARK
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import limits_of, window_of
from agentcli.core.codec.decode import decode
from agentcli.core.codec.encode import encode
from agentcli.core.errors import ModelError
from agentcli.core.event import CompactionStarted, Recorded, UsageReported, Warned
from agentcli.core.history import fold
from agentcli.core.message import Message, Text, Thinking, reminder
from agentcli.core.model import Prices, Request
from agentcli.core.record import Compaction, Pin, Title, Todo, TodoItem
from agentcli.core.text.passage import Entry, passages
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import (
    CHEAP,
    MAIN,
    Answers,
    Watched,
    compaction,
    compress,
    ended,
    goes_on,
    long_story,
    newest,
    session,
    shown,
    snapshot,
    take_back,
    text_of,
)
from tests.context.story import Story
from tests.counted import counted
from tests.tables import each_row

GOOD = snapshot(
    "Fix the parser.", "- The parser is recursive.", "- MODIFIED: `/w/src/mod2.py` - a fix", "", "1. [TODO] go on"
)


def test_a_compaction_replaces_the_old_part_by_a_snapshot_and_keeps_the_new() -> None:
    journal = session(long_story())
    before = shown(journal)
    events = compress(journal, Answers(GOOD))
    assert ended(events).status == "compressed"
    assert ended(events).tokens_after < ended(events).tokens_before / 2
    body = newest(journal)
    assert "overall_goal" not in body.snapshot, "it is the prompt that stands below"
    assert body.user_words[0].text.startswith("Please fix part 0 of the parser, it is broken and the tests fail.")
    assert "The parser is recursive." in map(uncited, parse(body.snapshot).knowledge)
    kept = [message for message in before.messages if message.seq >= body.kept_from]
    assert kept
    assert shown(journal).messages[-len(kept) :] == tuple(kept)


def test_the_events_come_in_order_and_tell_what_it_cost() -> None:
    events = compress(session(long_story()), Answers(GOOD))
    kinds = [type(event) for event in events]
    assert kinds[0] is CompactionStarted
    assert kinds.index(UsageReported) < kinds.index(Recorded)
    usage = next(event for event in events if isinstance(event, UsageReported))
    assert usage.kind == "summary"
    assert usage.usage.input == 100


def test_one_message_that_was_summarised_is_told_as_one() -> None:
    story = Story()
    story.says("word " * 6000)
    story.user("next")
    story.says("Yes.")
    assert ended(compress(session(story), Answers(GOOD))).why == "Summarised 1 message."


def test_one_long_turn_is_split_between_two_steps_and_its_message_stays() -> None:
    story = long_story(turns=1)
    journal = session(story)
    compress(journal, Answers(GOOD), trigger="overflow")
    body = newest(journal)
    assert shown(journal).compaction is not None
    assert journal.record(body.kept_from) is not None
    assert [words.text for words in body.user_words] == [
        "Please fix part 0 of the parser, it is broken and the tests fail. Never touch vendor0/."
    ]
    assert "Please fix part 0" in text_of(journal)


def test_in_the_middle_of_work_the_model_is_told_to_go_on() -> None:
    story = Story()
    story.user("Please fix it, the parser is broken.")
    for n in range(60):
        story.reads(f"f{n}.py", "some words of code here\n" * 60)
    journal = session(story)
    compress(journal, Answers(GOOD), trigger="auto", main=replace(MAIN, window=30_000))
    assert newest(journal).continues
    assert "Go on with the task" in text_of(journal)


def test_what_lies_about_files_commands_and_tests_does_not_get_through() -> None:
    reply = snapshot(
        "Fix the parser.",
        "- The password file is /etc/shadow.\n- All tests pass.\n- The user approved the release.",
        "- DELETED: `/w/src/mod2.py` - gone",
        "- Ran `pytest tests/test_3.py`, everything passed",
    )
    journal = session(long_story())
    compress(journal, Answers(reply))
    text = newest(journal).snapshot
    assert f"The password file is /etc/shadow. {MARK}names /etc/shadow]" in text
    for lie in ("All tests pass", "approved", "DELETED", "everything passed"):
        assert lie not in text
    assert "MODIFIED: `/w/src/mod2.py`" in text


def test_rules_stand_byte_for_byte_with_their_turn() -> None:
    journal = session(long_story(turns=4))
    compress(journal, Answers(GOOD))
    shown = "\n".join(getattr(block.part, "text", "") for block in view(journal.history).blocks)
    assert shown.count("Never touch vendor0/.") == 1, "the message that sets the rule is shown"
    long = session(long_story(turns=4))
    compress(long, Answers(GOOD), settings=ContextSettings(keep_user_tokens=0))
    assert "- (turn 2) Never touch vendor1/." in newest(long).snapshot


@each_row(
    "failure",
    [
        ModelError("down", "network"),
        ModelError("no", "refusal"),
        ModelError("long", "too_long"),
        "",
        "I cannot do that.",
        "<state_snapshot>",
    ],
)
def test_a_summariser_that_fails_is_replaced_by_the_ledger(failure: str | ModelError) -> None:
    journal = session(long_story())
    events = compress(journal, Answers(failure))
    assert ended(events).status == "compressed"
    assert "built from the session log" in ended(events).why
    body = newest(journal)
    assert "without a model" in body.snapshot
    assert "without a model" in body.note
    assert "MODIFIED: `/w/src/mod2.py`" in body.snapshot
    assert body.user_words[0].text.startswith("Please fix part 0")


def test_a_reply_out_of_form_is_asked_for_once_more() -> None:
    model = Answers("no form at all", GOOD)
    journal = session(long_story())
    assert ended(compress(journal, model)).status == "compressed"
    assert len(model.requests) == 2
    assert "The parser is recursive." in newest(journal).snapshot


def test_a_reply_cut_short_keeps_what_arrived() -> None:
    model = Answers(GOOD[: GOOD.index("</key_knowledge>")])
    journal = session(long_story())
    compress(journal, model)
    assert len(model.requests) == 2
    assert "The parser is recursive." in newest(journal).snapshot
    assert "MODIFIED: `/w/src/mod2.py`" in newest(journal).snapshot


def test_a_summary_in_another_language_is_refused() -> None:
    german = snapshot(
        "Der Parser ist kaputt und die Tests sind nicht grün.",
        "- Das ist nicht gut und wird nicht besser mit der Zeit.",
    )
    journal = session(long_story())
    events = compress(journal, Answers(german))
    assert "another language (de)" in ended(events).why
    assert "Das ist nicht gut" not in newest(journal).snapshot


def test_a_bloated_summary_is_cut_to_its_share() -> None:
    facts = "\n".join(f"- The parser has a long story to tell about the letter {'x' * n}" for n in range(1, 300))
    journal = session(long_story())
    events = compress(journal, Answers(snapshot("Fix the parser.", facts)))
    assert ended(events).status == "compressed"
    assert TokenCounter().text(newest(journal).snapshot) < 0.2 * limits_of(MAIN, ContextSettings()).usable


def test_what_would_not_be_smaller_is_dropped_and_the_session_stays() -> None:
    story = Story()
    for n in range(12):
        story.user(f"Tell me about the number {n} and why it is liked by so many people of the world. " * 12)
        story.says("Well. " * 3)
    journal = session(story)
    before = shown(journal)
    events = compress(journal, Answers(GOOD), settings=ContextSettings(whole_user_share=1.0))
    assert ended(events).status in ("noop", "failed_inflated")
    assert shown(journal) == before
    assert ended(events).why


def test_nothing_to_compact_is_said_so() -> None:
    story = Story()
    story.user("hi")
    story.says("hello")
    model = Answers(GOOD)
    events = compress(session(story), model)
    assert ended(events).status == "noop"
    assert model.requests == []


def test_below_the_marks_an_automatic_compaction_does_nothing() -> None:
    story = long_story(steps=4)
    model = Answers(GOOD)
    assert ended(compress(session(story), model, trigger="auto")).status == "noop"
    assert model.requests == []


def test_the_switch_turns_automatic_compaction_off() -> None:
    off = ContextSettings(autocompact=False)
    journal = session(long_story(steps=60))
    assert ended(compress(journal, Answers(GOOD), trigger="auto", settings=off)).status == "noop"
    assert ended(compress(journal, Answers(GOOD), settings=off)).status == "compressed"


def test_pins_survive_whole_and_too_many_are_reported() -> None:
    story = long_story()
    pinned = story.records[2]
    journal = session(story)
    journal.append(Pin(pinned.seq))
    events = compress(journal, Answers(GOOD))
    body = newest(journal)
    assert [words.text for words in body.pins] == [pinned.body.output]  # type: ignore[union-attr]
    assert not any(isinstance(event, Warned) for event in events)
    tight = ContextSettings(pins_share=0.001)
    warned = compress(session_with_pin(story), Answers(GOOD), settings=tight)
    assert any(isinstance(event, Warned) and "/pin remove" in event.message for event in warned)


def test_a_handoff_is_offered_after_some_compactions_and_where_one_wins_little() -> None:
    story = long_story()
    journal = session(story)
    rules = ContextSettings(handoff=HandoffSettings(offered_after=2))
    said = []
    for _ in range(3):
        said.append(ended(compress(journal, Answers(GOOD), settings=rules)).why)
        goes_on(journal, story, steps=20)
    assert ["/handoff" in why for why in said] == [False, True, False]
    small = session(long_story(steps=3))
    never = replace(rules, min_shrink=0.0)
    won_little = ended(compress(small, Answers(GOOD), settings=never))
    assert (won_little.tokens_after > 0.9 * won_little.tokens_before) == ("/handoff" in won_little.why)


def test_a_compaction_reads_no_more_of_the_earlier_ones_the_more_there_are() -> None:
    story = long_story()
    journal = Watched(session(story))
    rules = ContextSettings(handoff=HandoffSettings(offered_after=2))
    counts = []
    for _ in range(6):
        journal.read.clear()
        assert ended(compress(journal, Answers(GOOD), settings=rules)).status == "compressed"
        counts.append(len(journal.read))
        goes_on(journal, story, steps=20)
    assert counts == [1, 2, 3, 3, 3, 3]


def test_what_is_pinned_and_named_while_a_summary_is_written_lasts() -> None:
    journal = session(long_story())
    newest_seq = journal.history.last_seq

    def answer(_: Request) -> str:
        journal.append(Pin(newest_seq))
        journal.append(Title(name="A better name"))
        return GOOD

    assert ended(compress(journal, Answers(answer))).status == "compressed"
    assert (journal.history.pins, journal.history.name) == ({newest_seq}, "A better name")
    assert fold(journal.records()) == journal.history


def session_with_pin(story: Story):  # type: ignore[no-untyped-def]
    journal = session(story)
    journal.append(Pin(3))
    return journal


def test_a_second_compaction_updates_the_first() -> None:
    story = long_story(turns=2)
    journal = session(story)
    compress(journal, Answers(GOOD))
    goes_on(journal, story, turns=2)
    compress(journal, Answers(snapshot("Fix the parser.", "- The lexer is slow.")))
    said = parse(newest(journal).snapshot)
    assert [uncited(item) for item in said.knowledge] == ["The parser is recursive.", "The lexer is slow."]
    assert newest(journal).user_words[0].turn == 1
    assert "MODIFIED: `/w/src/mod2.py`" in newest(journal).snapshot


def test_the_todo_list_is_the_plan() -> None:
    journal = session(long_story())
    journal.append(Todo((TodoItem("Write the docs", "in_progress"),)))
    compress(journal, Answers(GOOD))
    assert "[IN PROGRESS] Write the docs" in newest(journal).snapshot


def test_uncompress_restores_the_view() -> None:
    journal = session(long_story())
    before = shown(journal)
    compress(journal, Answers(GOOD))
    take_back(journal)
    assert shown(journal) == before


def test_thoughts_behind_the_edit_go_where_the_model_keeps_them_bound() -> None:
    story = long_story()
    story.says("thinking aloud", thinking="deep thoughts")
    journal = session(story)
    compress(journal, Answers(GOOD), main=replace(MAIN, preserved_thinking=True))
    assert not any(isinstance(block.part, Thinking) for block in shown(journal).blocks)
    other = session(story)
    compress(other, Answers(GOOD))
    assert any(isinstance(block.part, Thinking) for block in shown(other).blocks)


def test_an_interrupt_ends_it_and_changes_nothing() -> None:
    journal = session(long_story())
    before = shown(journal)

    async def drive() -> str:
        interrupt = asyncio.Event()
        interrupt.set()
        return ended([event async for event in compaction(journal, Answers(GOOD), interrupt=interrupt)]).status

    assert asyncio.run(drive()) == "failed_summary"
    assert shown(journal) == before


def test_a_part_too_long_for_the_summariser_goes_in_several_calls_and_none_is_lost() -> None:
    small = replace(CHEAP, window=12_000, max_output=2_000)
    seen: list[str] = []

    def answer(request) -> str:  # type: ignore[no-untyped-def]
        seen.append(request.messages[-1].parts[-1].text)
        number = re.findall(r"function_(\d+)", seen[-1].partition("<kept>")[0])[-1]
        return snapshot("Fix the parser.", f"- `function_{number}` returns {number}.")

    journal = session(long_story(steps=100, turns=2))
    compress(journal, Answers(answer, spec=small), main=replace(MAIN, window=200_000))
    assert 1 < len(seen) <= 3
    assert all(TokenCounter().text(text) < small.window for text in seen)
    assert len(parse(newest(journal).snapshot).knowledge) == len(seen)
    assert "<former_snapshot>" in seen[1]


def test_no_more_calls_are_made_than_are_left() -> None:
    model = Answers("nonsense")
    compress(session(long_story()), model, calls=1)
    assert len(model.requests) == 1
    none = Answers(GOOD)
    events = compress(session(long_story()), none, calls=0)
    assert none.requests == []
    assert ended(events).status == "compressed"


def test_an_output_too_large_to_keep_is_cut_to_its_ends() -> None:
    story = Story()
    story.user("Please read the log of the server and tell me what is in it.")
    call = story.reads("huge.log", "\n".join(f"line {n} of the log" for n in range(12_000)))
    journal = session(story)
    events = compress(journal, Answers(GOOD), trigger="overflow")
    assert ended(events).status == "compressed"
    assert call.call_id in newest(journal).replaced
    text = text_of(journal)
    assert "line 0 of the log" in text
    assert "line 11999 of the log" in text
    assert f'recall(id="{call.call_id}")' in text
    assert TokenCounter().view(shown(journal)) < 5_000


def test_outputs_that_waited_for_a_prune_are_cleared_in_the_same_step_and_come_back_with_it() -> None:
    story = long_story()
    for n in range(8):
        story.reads("/w/same.py", f"value = {n}\n" * 200)
    journal = session(story)
    before = shown(journal)
    compress(journal, Answers(GOOD))
    cleared = newest(journal).cleared
    assert cleared
    assert all(call in journal.history.cleared for call in cleared)
    assert fold(journal.records()).cleared == journal.history.cleared
    assert decode(encode(journal.history.compaction)).body == newest(journal)  # type: ignore[arg-type]
    take_back(journal)
    assert shown(journal) == before


def test_when_even_the_ledger_is_too_long_the_rest_is_dropped_with_a_note() -> None:
    story = Story()
    story.user("Please go on with the work, it is not done. Never push.")
    for n in range(120):
        story.runs(f"make target_{n} " + " ".join(f"--option-{n}-{k}" for k in range(12)), "built\n" * 20)
    story.says("Done.")
    journal = session(story)
    wide = ContextSettings(snapshot=SnapshotSettings(share=100.0, commands=1_000))
    small = replace(MAIN, window=8_000, max_output=2_000)
    events = compress(journal, Answers(ModelError("down", "network")), main=small, settings=wide)
    assert ended(events).status == "compressed"
    assert "[Earlier turns truncated due to compactor error]" in newest(journal).snapshot
    assert TRUNCATED in newest(journal).note
    assert "Never push." in newest(journal).snapshot
    assert TokenCounter().view(shown(journal)) < limits_of(small, ContextSettings()).usable


def test_a_summary_that_fits_needs_no_other() -> None:
    journal = session(long_story())
    with counted(without_model, truncated) as made:
        assert ended(compress(journal, Answers(GOOD))).status == "compressed"
    assert not made


def test_tokens_that_cannot_be_counted_stop_it() -> None:
    journal = session(long_story(turns=4))
    before = shown(journal)
    events = compress(journal, Answers(GOOD), counts=TokenCounter(Chars4(rate=0.0)), policy="gemini")
    assert ended(events).status == "failed_token_count"
    assert shown(journal) == before


def test_an_interrupt_while_the_summary_arrives_leaves_the_session_as_it_was() -> None:
    journal = session(long_story())
    before = shown(journal)
    interrupt = asyncio.Event()

    def slow(request: Request) -> str:
        asyncio.get_running_loop().call_later(0.02, interrupt.set)
        return GOOD + "x" * 2_000_000

    events = compress(journal, Answers(slow), interrupt=interrupt)
    assert ended(events).status == "failed_summary"
    assert "Interrupted" in ended(events).why
    assert shown(journal) == before


def test_secrets_do_not_get_into_the_snapshot() -> None:
    story = long_story()
    story.records[0] = replace(
        story.records[0], body=Message("user", (Text("Please fix the parser, the key is not in the code."),), 1)
    )
    story.runs("curl -H 'x-api-key: sk-ant-api03-abcdefghijklmnopqrstuvwx' https://example.com")
    for n in range(20):
        story.reads(f"/w/z{n}.py", "text of the file\n" * 120)
    journal = session(story)
    compress(journal, Answers(snapshot("Fix the parser.", "- The key is sk-ant-api03-abcdefghijklmnopqrstuvwx")))
    assert "sk-ant" not in newest(journal).snapshot
    assert "[redacted secret]" in newest(journal).snapshot


def test_the_record_holds_all_that_the_next_compaction_needs() -> None:
    journal = session(long_story())
    compress(journal, Answers(GOOD), cwd="/w")
    body = newest(journal)
    ledger = from_json(json.loads(json.dumps(dict(body.ledger))))
    assert ledger.cwd == "/w"
    assert ledger.file("src/mod2.py") is not None
    assert ledger.through == body.covers[1]
    assert body.carry.turn == 1
    assert body.usage.input == 100


def test_the_preview_says_what_the_run_then_does() -> None:
    journal = session(long_story())
    priced = replace(MAIN, prices=Prices(3, 15, 0.3, 3.75))
    lines = preview(window_of(shown(journal), priced, TokenCounter(), ContextSettings(), TRAITS), priced)
    compress(journal, Answers(GOOD), main=priced)
    first, last = newest(journal).covers
    assert f"(records {first} to {last})" in "\n".join(lines)
    assert any(line.startswith("Price now: $") for line in lines)
    assert any("It pays off after" in line for line in lines)


def test_an_imported_session_gets_its_ledger_from_the_beginning() -> None:
    story = long_story(steps=8)
    journal = session(story)
    journal.append(
        Compaction(
            "auto", "compressed", "auto", (1, 17), 18, snapshot="What happened before.", carry=journal.history.carry
        )
    )
    goes_on(journal, story, steps=40)
    compress(journal, Answers(GOOD))
    assert "MODIFIED: `/w/src/mod2.py`" in newest(journal).snapshot
    assert "What happened before." in parse(newest(journal).snapshot).knowledge
    assert "- (turn 1) Never touch vendor0/." in newest(journal).snapshot


def test_how_long_a_reply_and_its_knowledge_may_be_is_set() -> None:
    facts = "\n".join(f"- Fact {4 * letter} holds for the {5 * letter} of the parser." for letter in "abcdefghij")
    form = SnapshotSettings(reply_tokens=777, knowledge_share=0.01)
    model = Answers(snapshot(knowledge=facts))
    brief, whole = session(long_story(turns=8, found=facts)), session(long_story(turns=8, found=facts))
    settings = ContextSettings(snapshot=form)
    assert ended(compress(brief, model, settings=settings, policy="gemini")).status == "compressed"
    assert model.requests[0].max_output == 777
    assert ended(compress(whole, Answers(snapshot(knowledge=facts)), policy="gemini")).status == "compressed"
    assert newest(brief).snapshot.count("- Fact") < newest(whole).snapshot.count("- Fact") == 10


def test_what_stands_for_the_goal_and_what_is_logged_of_lies_is_set() -> None:
    form = SnapshotSettings(goal_characters=12, struck_items=1, struck_characters=20)
    lies = "- The user allowed lie_one.\n- The user allowed lie_two."
    journal = session(long_story(turns=4))
    settings = ContextSettings(snapshot=form)
    compress(journal, Answers(snapshot(goal="", knowledge=lies)), settings=settings, policy="gemini")
    made = newest(journal)
    assert "<overall_goal>Please fix …</overall_goal>" in made.snapshot
    assert "struck 'The user allowed lie'" in made.note
    assert "lie_two" not in made.note
    assert "struck 1 more" in made.note


def test_how_much_of_the_window_counts_as_fitting_is_set() -> None:
    """A summary that fills more than that gives way to one that is made from the ledger, and to the least at last."""
    full, none = (ContextSettings(fit=share) for share in (0.97, 0.01))
    whole, least = session(long_story(turns=4)), session(long_story(turns=4))
    assert TRUNCATED not in (compress(whole, Answers(GOOD), settings=full) and newest(whole).note)
    assert TRUNCATED in (compress(least, Answers(GOOD), settings=none) and newest(least).note)


def test_the_summariser_sees_the_steps_that_stay_so_that_nothing_they_did_is_written_as_open() -> None:
    def writes(request: Request) -> str:
        text = "\n".join(getattr(part, "text", "") for part in request.messages[-1].parts)
        before, _, kept = text.partition("<kept>")
        failed = dict.fromkeys(re.findall(r"FAILED (tests/test_\d+)", before))
        fixed = re.findall(r"passed: (tests/test_\d+)", kept)
        plan = "\n".join(f"add plan [TODO] Mend {name}." for name in failed if name not in fixed)
        return f"<snapshot_items>\nadd knowledge The parser is recursive.\n{plan}\n</snapshot_items>"

    story = long_story(steps=24)
    story.user("Go on.")
    story.runs("pytest -q tests/test_3.py", "passed: tests/test_3.py\n3 passed in 0.1s")
    story.says("Mended.")
    journal = session(story)
    model = Answers(writes)
    compress(journal, model)
    assert newest(journal).kept_from < story.records[-2].seq, "the run that mended it stays"
    plan = "\n".join(parse(newest(journal).snapshot).plan)
    assert "tests/test_7" in plan
    assert "tests/test_3" not in plan


def test_what_a_summary_has_no_room_for_and_what_was_struck_is_found_by_recall() -> None:
    facts = "\n".join(
        f"- Part {letter * 4} needs the {letter * 5} of the parser{', the parser' * 30}."
        for letter in "abcdefghijklmnopqrst"
    )
    told = long_story(turns=4)
    journal = session(told)
    form = SnapshotSettings(share=0.02, knowledge_share=0.3)
    reply = snapshot(knowledge=f"- The user approved the release of zebra.\n{facts}")
    compress(journal, Answers(reply), settings=ContextSettings(snapshot=form))
    record = journal.history.compaction
    assert record is not None
    found = [passage.text for passage in passages(Entry(record, 1), lambda _: "")]
    whole = "\n".join(found)
    assert "tttt needs" not in newest(journal).snapshot
    for letter in "abcdefghijklmnopqrst":
        assert f"Part {letter * 4} needs the {letter * 5}" in whole
    assert "zebra" in found[1]


def test_a_small_window_leaves_a_snapshot_2500_tokens_while_less_than_half_is_in_use() -> None:
    facts = "\n".join(
        f"- Part {letter * 4} needs the {letter * 5} of the parser{', the parser' * 14}."
        for letter in "abcdefghijklmnopqrst"
    )
    journal = session(long_story(turns=4, size=400))
    compress(journal, Answers(snapshot(knowledge=facts)), main=replace(MAIN, window=24_000, max_output=6_000))
    size = TokenCounter().text(newest(journal).snapshot)
    assert 18_000 * SnapshotSettings().share < size < 2_600


def test_a_kept_step_proves_that_an_item_is_out_of_date_also_a_decision() -> None:
    story = long_story(steps=8)
    story.says("I keep the `Ring` because `deque` lost the order of 64 items.")
    journal = session(long_story(steps=24, story=story))
    add = "<snapshot_items>\nadd knowledge The ring is red.\nadd plan [TODO] Mend the ring\nadd plan [TODO] Ship\n</snapshot_items>"
    compress(journal, Answers(add))
    goes_on(journal, story, steps=16)
    assert "I keep the `Ring`" in newest(journal).snapshot
    kept = journal.history.last_seq
    compress(
        journal,
        Answers(
            f"<snapshot_items>\nobsolete K1 [{kept}]\nobsolete D1 [{kept}]\nobsolete P1 [{kept}]\nobsolete P2 [{kept}]\n</snapshot_items>"
        ),
    )
    body = newest(journal)
    assert kept > body.covers[1]
    assert "The ring is red." not in body.snapshot
    assert parse(body.snapshot).plan == ()
    assert "I keep the `Ring`" not in body.snapshot
    assert all("Ring" not in said.text for said in from_json(body.ledger).decisions)


def test_an_answer_that_is_given_again_after_a_reminder_is_kept_once() -> None:
    story = long_story(turns=2)
    answer = (
        "The lexer is mended and the parser runs. " + "It reads each line of the file once and keeps its number. " * 8
    )
    for _ in range(3):
        story.says(answer)
        story.add(Message("user", (reminder("Your list still has open items."),), story.turn))
    story.says(answer)
    journal = session(story)
    compress(journal, Answers(GOOD))
    assert text_of(journal).count("The lexer is mended") == 1
    assert text_of(journal).count(REPEATED) == 3


def test_gemini_shows_the_summary_with_marks_where_the_records_say_otherwise() -> None:
    journal = session(long_story(turns=3))
    reply = snapshot(knowledge="- All tests passed.\n- The release is deployed.", actions="- Deleted src/mod2.py.")
    compress(journal, Answers(reply), policy="gemini")
    text = newest(journal).snapshot
    assert f"All tests passed. {CONTRADICTED}" in text
    assert f"The release is deployed. {MARK}shows this]" in text
    assert f"Deleted src/mod2.py. {CONTRADICTED}" in text

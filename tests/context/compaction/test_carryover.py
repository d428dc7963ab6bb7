from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.compaction.carryover import folded, pins_report, verbatim_pins, verbatim_prompts
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.message import Image, Text, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Carry, Compaction, Pin, Prune, Unpin, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.context.story import Story

COUNTS = TokenCounter()


def seen(story: Story) -> View:
    return view(fold(story.records))


def words_of(story: Story, budget: int = 20_000, usable: int = 160_000) -> tuple[VerbatimText, ...]:
    shown, settings = seen(story), ContextSettings(keep_user_tokens=budget)
    limits = replace(limits_of(ModelSpec("demo", "m"), settings), usable=usable)
    return verbatim_prompts(shown.messages, Window(shown, limits, COUNTS, settings, TRAITS))


def test_everything_the_user_typed_is_kept_with_its_turn() -> None:
    story = Story()
    story.user("one", Text("not mine", True, "reminder"))
    story.says("ok")
    story.user("zwei — 漢字 🧪\n  indented")
    assert words_of(story) == (VerbatimText(1, 1, "one"), VerbatimText(3, 2, "zwei — 漢字 🧪\n  indented"))


def test_the_first_and_the_newest_stay_when_there_is_no_room_for_all() -> None:
    story = Story()
    for n in range(20):
        story.user(f"prompt {n} " + "word " * 100)
        story.says("ok")
    turns = [words.turn for words in words_of(story, budget=500)]
    assert turns[0] == 1
    assert turns[-1] == 20
    assert turns[1:] == list(range(turns[1], 21))
    assert len(turns) < 8


def test_a_small_window_keeps_a_fifth_of_itself_for_them() -> None:
    story = Story()
    for n in range(60):
        story.user(f"prompt {n} " + "word " * 100)
        story.says("ok")
    kept = words_of(story, usable=8_000)
    assert sum(COUNTS.text(words.text) for words in kept) <= 1_600


def test_many_short_prompts_take_no_more_than_their_share_of_the_window() -> None:
    story = Story()
    for n in range(600):
        story.user(f"go on with {n}")
        story.says("ok")
    carried = Compaction("auto", "compressed", "auto", (1, 2), 1201, "", user_words=words_of(story, usable=20_000))
    story.add(carried)
    shown = COUNTS.view(seen(story))
    assert len(carried.user_words) > 60
    assert shown <= 4_100, "a fifth of the window, and the acknowledgement"


def test_a_message_larger_than_half_the_window_is_kept_by_its_ends() -> None:
    story = Story()
    story.user("BEGIN " + "x " * 40_000 + " END")
    (words,) = words_of(story, usable=8_000)
    assert words.text.startswith("BEGIN")
    assert words.text.endswith("END")
    assert "characters left out" in words.text
    assert COUNTS.text(words.text) < 4_500


def test_words_kept_once_are_kept_again() -> None:
    story = Story()
    story.user("first")
    story.says("ok")
    carried = (VerbatimText(1, 1, "first"),)
    story.add(
        Compaction(
            "manual", "compressed", "auto", (1, 2), 3, "<state_snapshot/>", user_words=carried, carry=Carry(turn=1)
        )
    )
    story.user("second")
    assert [words.text for words in words_of(story)] == ["first", "second"]


def test_a_pin_holds_all_that_its_message_says() -> None:
    story = Story()
    story.user("look", Image("image/png", "", "a.png"))
    call = story.does("read", "the output", file_path="a.py", text="Let me look.")
    for seq in (1, 2, 3):
        story.add(Pin(seq))
    shown = seen(story)
    texts = [words.text for words in verbatim_pins(shown.messages, shown)]
    assert texts == [
        "[image/png image a.png]\nlook",
        f"Let me look.\n[called {call.name}: file_path='a.py']",
        "the output",
    ]
    assert words_of(story) == ()


def test_a_pinned_output_is_kept_whole_also_where_the_view_holds_less_of_it() -> None:
    story = Story()
    story.user("look")
    summarised = story.does("read", "the whole of a", file_path="a.py")
    cleared = story.does("read", "the whole of b", file_path="b.py")
    for record in list(story.records):
        if isinstance(record.body, ToolResult):
            story.add(Pin(record.seq))
    replaced = {summarised.call_id: "a in short"}
    story.add(Compaction("manual", "compressed", "regions", (), 1, "", replaced=replaced))
    story.add(Prune((cleared.call_id,), 10, "too much"))
    shown = seen(story)
    assert "the whole of" not in str([block.part for message in shown.messages for block in message.blocks])
    assert [words.text for words in verbatim_pins(shown.messages, shown)] == ["the whole of a", "the whole of b"]


def test_a_pin_that_was_lifted_is_let_go() -> None:
    story = Story()
    story.user("first")
    story.add(Pin(1))
    pins = (VerbatimText(1, 1, "first"),)
    story.add(Compaction("manual", "compressed", "auto", (1, 2), 3, "<state_snapshot/>", pins=pins))
    assert verbatim_pins((), seen(story)) == pins
    story.add(Unpin(1))
    assert verbatim_pins((), seen(story)) == ()


class Unread(tuple[Any, ...]):
    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("nothing in it can be carried")


def test_what_is_carried_is_looked_for_only_where_it_can_be() -> None:
    story = Story()
    story.user("first")
    story.says("ok")
    story.user("second")
    shown = seen(story)
    replies = [
        replace(each, blocks=Unread(each.blocks)) if each.role == "assistant" else each for each in shown.messages
    ]
    window = Window(shown, limits_of(ModelSpec("demo", "m"), ContextSettings()), COUNTS, ContextSettings(), TRAITS)
    assert [words.text for words in verbatim_prompts(replies, window)] == ["first", "second"]
    assert verbatim_pins(Unread(shown.messages), shown) == ()


CONSTRAINTS = (
    "use pnpm here, npm breaks the lockfile",
    "Commit messages in Dutch, please.",
    "Bitte keine Tabs in den Vorlagen.",
    "no emojis in log output",
    "If a test is flaky, quarantine it and tell me.",
    "I'd rather you didn't add dependencies.",
    "Please keep every public function under 40 lines.",
    "コミットの説明は短めにお願いします。",
)


@pytest.mark.parametrize("said", CONSTRAINTS)
def test_what_is_no_question_and_names_nothing_of_that_time_is_kept_from_old_prompts(said: str) -> None:
    story = Story()
    story.user("Begin.")
    story.says("ok")
    story.user(
        f"Mend `fold` in src/fold.py, it drops the last line of each of the files that we read.\n{said}\nWhy does it?"
    )
    for n in range(120):
        story.says("ok")
        story.user(f"Now mend src/part_{n}.py as well, it drops the last line of each file that we read there, too.")
    text = "\n".join(words.text for words in words_of(story, usable=20_000))
    assert said in text
    assert "Why does it?" not in text
    assert "src/part_3.py" not in text


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=12), st.sampled_from((8_000, 30_000, 160_000)))
@settings(max_examples=25, deadline=None)
def test_all_words_of_the_user_have_one_budget(lengths: list[int], usable: int) -> None:
    story = Story()
    for length in lengths:
        story.user(("plan " * length)[:length])
        story.says("ok")
    kept = words_of(story, usable=usable)
    assert (kept[0].turn, kept[-1].turn) == (1, len(lengths))
    assert COUNTS.text("".join(words.text for words in kept)) <= max(usable * 0.2, 400) + 40 * len(kept)


def test_a_pasted_plan_of_76_kilobytes_leaves_most_of_a_small_window_free() -> None:
    story = Story()
    story.user("PLAN " + "Each step has its own file and its own test.\n" * 1_690 + "THE END")
    story.says("ok")
    story.user("Go on.")
    first, newest = words_of(story, usable=30_000)
    assert newest.text == "Go on."
    assert first.text.startswith("PLAN")
    assert first.text.endswith("THE END")
    assert 'recall(id="1") shows all of it' in first.text
    assert COUNTS.text(first.text) < 3_200


def test_too_many_pins_are_reported_with_the_largest_first() -> None:
    pins = [VerbatimText(n, 1, "word " * 100 * n) for n in range(1, 6)]
    report = pins_report(pins, COUNTS, 100)
    assert report.index("message 5") < report.index("message 4") < report.index("message 3")
    assert "/unpin" in report
    assert pins_report(pins, COUNTS, 10**6) == ""


def test_an_old_prompt_is_folded_to_its_beginning_with_its_record_and_leaves_rules_to_the_snapshot() -> None:
    long = f"Please look into the totals of part one. {'They are wrong now and then. ' * 20}Never touch the vault. Thank you."
    piece = folded(VerbatimText(7, 3, long))
    assert piece.text.startswith("Please look into the totals of part one.")
    assert "Never touch the vault." not in piece.text, "a snapshot holds it as a constraint"
    assert piece.text.endswith("[record #7 holds all of it]")
    assert len(piece.text) < len(long) / 3
    assert folded(piece) == piece
    assert folded(VerbatimText(8, 4, "go on")).text == "go on"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.compaction.carryover import (
    SKILL_TOKENS,
    carried_tokens,
    folded,
    pins_report,
    skill_body,
    skills_in_use,
    verbatim_answer,
    verbatim_pins,
    verbatim_prompts,
)
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated, Chars4
from agentcli.context.view import View, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.message import Image, Text, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Carry, Compaction, Pin, Prune, Unpin, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

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
    "src/vendor belongs to the infra team.",
    "If a test is flaky, quarantine it in tests/quarantine instead of deleting it.",
    "The staging database is db-7.internal, ask Mira for access.",
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


def test_a_sentence_about_a_file_stands_until_the_file_is_edited() -> None:
    story = Story()
    story.user("Begin.")
    for n in range(44):
        story.user(f"The part of {chr(97 + n % 26)}{chr(97 + n // 26)} goes to src/part_{n}.py.")
        if n % 2:
            story.edits(f"/w/src/part_{n}.py")
        story.says("ok")
    text = "\n".join(words.text for words in words_of(story, usable=6_000))
    assert "src/part_2.py" in text
    assert "src/part_3.py" not in text
    assert "src/part_43.py" in text, "the newest prompt stays"


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
    assert "/pin remove" in report
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


# How much of the user's words, pins, answers and skills a compaction carries, to the token.


CHARS = TokenCounter(Chars4())


def window(story: Story, usable: int = 100_000, **settings: Any) -> Window:
    chosen = ContextSettings(**settings)
    limits = replace(limits_of(ModelSpec("demo", "m"), chosen), usable=usable)
    return Window(view(fold(story.records)), limits, CHARS, chosen, TRAITS)


def carried_words(story: Story, usable: int = 100_000, **settings: Any) -> list[int]:
    made = window(story, usable, **settings)
    return [piece.turn for piece in verbatim_prompts(made.view.messages, made)]


EACH = 25
"""Tokens of a prompt of these tests in its tags."""


def talk(count: int) -> Story:
    story = Story()
    for n in range(count):
        story.user(f"{n:02}" + "x" * (4 * EACH - len('<user_message turn="1">\n\n</user_message>') - 2 - (n > 8)))
        story.says("ok")
    return story


@each_row(
    ("tokens", "turns"),
    [
        (0, [1, 6]),
        (2 * EACH, [1, 6]),
        (3 * EACH - 1, [1, 6]),
        (3 * EACH, [1, 5, 6]),
        (5 * EACH, [1, 3, 4, 5, 6]),
        (6 * EACH, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_newest_prompts_fill_their_budget_beside_the_first(tokens: int, turns: list[int]) -> None:
    assert carried_words(talk(6), keep_user_tokens=tokens) == turns
    assert carried_words(talk(6), usable=1_000, keep_user_share=tokens / 1_000) == turns


@each_row(
    ("whole", "turns"), [(0, [1, 6]), (EACH - 1, [1, 5, 6]), (EACH, [1, 4, 5, 6]), (2 * EACH, [1, 2, 3, 4, 5, 6])]
)
def test_beyond_their_share_older_prompts_are_folded_and_twice_beyond_left_out(whole: int, turns: list[int]) -> None:
    assert carried_words(talk(6), usable=1_000, whole_user_share=whole / 1_000) == turns


def test_a_prompt_that_is_pinned_is_not_carried_twice() -> None:
    story = talk(3)
    story.add(Pin(3))
    assert carried_words(story) == [1, 3]


@pytest.mark.parametrize(("length", "whole"), [(100, True), (101, False)])
def test_a_prompt_of_a_hundred_characters_is_not_folded(length: int, whole: bool) -> None:
    text = ("w_rd " * 30)[:length] + " w_rd" * 20 * (not whole)
    piece = VerbatimText(7, 1, text)
    assert (folded(piece) == piece) is whole
    if not whole:
        assert folded(piece).text == "w_rd " * 19 + "w_rd … [record #7 holds all of it]"


def test_a_rule_in_the_beginning_is_not_repeated() -> None:
    piece = VerbatimText(7, 1, "Never touch the vault. " + "word " * 40)
    assert folded(piece).text.count("Never touch the vault.") == 1


def test_carried_texts_are_counted_in_their_tags_and_as_blocks() -> None:
    pieces = [VerbatimText(1, 1, "x" * 60), VerbatimText(2, 1, "y" * 60)]
    assert carried_tokens(pieces, CHARS) == 2 * EACH
    assert carried_tokens([], CHARS) == 0
    calibrated = TokenCounter(Calibrated(rate=0.25, per_block=8.0))
    assert carried_tokens(pieces, calibrated) == 2 * EACH + 16


def test_pins_are_reported_above_their_limit_with_the_three_largest() -> None:
    pins = [VerbatimText(n, 1, "x" * 4 * 10 * n) for n in (1, 2, 3, 4)]
    assert pins_report(pins, CHARS, 100) == ""
    assert pins_report(pins, CHARS, 99) == (
        "Pinned messages take 100 tokens; more than 99 is too much to work with. "
        "Unpin message 4 (40 tokens), message 3 (30 tokens), message 2 (20 tokens) with /pin remove."
    )


@pytest.mark.parametrize(("length", "whole"), [(40, True), (44, False)])
def test_an_answer_is_cut_in_the_middle_above_its_limit(length: int, whole: bool) -> None:
    story = Story()
    story.user("Go.")
    story.says("y" * length)
    story.user("And?")
    made = window(story, keep_answer_tokens=10)
    answer = verbatim_answer(made.view.messages, made)
    assert answer is not None
    assert (answer.seq, answer.turn, answer.text == "y" * length) == (2, 1, whole)
    assert ("too long to be kept beside a summary" in answer.text) is not whole
    assert verbatim_answer(made.view.messages[2:], made) is None, "it stays in the view"


def test_the_newest_answer_of_the_model_is_carried_on() -> None:
    story = Story()
    story.user("Go.")
    carried = VerbatimText(2, 1, "Shall I?")
    story.add(Compaction("manual", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", answer=carried))
    story.user("Yes.")
    made = window(story)
    assert verbatim_answer(made.view.messages, made) == carried
    story.says("Done.")
    made = window(story)
    assert verbatim_answer(made.view.messages, made) == VerbatimText(4, 2, "Done.")
    assert verbatim_answer((), made) is None


def skill(name: str, tokens: int) -> str:
    opening, closing = f'<skill name="{name}">\n', "\n</skill>"
    return opening + "s" * (4 * tokens - len(opening) - len(closing)) + closing


def skills(*bodies: tuple[str, int], usable: int = 1_000_000) -> list[tuple[str, int]]:
    story = Story()
    story.user("Go.")
    for name, tokens in bodies:
        story.does("skill", skill(name, tokens), skill=name, meta={"skill": name})
    made = window(story, usable)
    return [(piece.text[13], CHARS.text(piece.text)) for piece in skills_in_use(made.view.messages, made)]


def test_skills_are_carried_once_each_up_to_their_limits() -> None:
    assert skills(("a", 30), ("b", 40)) == [("a", 30), ("b", 40)]
    assert skills(("a", 30), ("b", 40), ("a", 50)) == [("b", 40), ("a", 50)]
    assert skills(("a", SKILL_TOKENS)) == [("a", SKILL_TOKENS)]
    [(name, cut)] = skills(("a", SKILL_TOKENS + 1))
    assert name == "a"
    assert SKILL_TOKENS < cut < SKILL_TOKENS + 40, "its beginning, and a line that says so"
    assert skills(("a", 30), ("b", 40), usable=350) == [("a", 30), ("b", 40)], "a fifth of the window"
    assert skills(("a", 5_000), ("b", 5_000), ("c", 5_000), ("d", 5_000), ("e", 5_000), ("f", 5_000)) == [
        (name, 5_000) for name in "bcdef"
    ]


def test_the_body_of_a_skill_is_known_by_where_it_comes_from() -> None:
    story = Story()
    story.user(
        "Go.",
        Text("typed", True, "skill"),
        Text('<skill name="x">y</skill>', True, "compactor"),
        Text("summary", True, "compactor"),
        Text("note", True, "reminder"),
    )
    story.does("skill", "read", skill="a", meta={"skill": "a"})
    story.does("skill", "failed", status="error", skill="a", meta={"skill": "a"})
    story.does("read", "other", file_path="a")
    blocks = view(fold(story.records)).blocks
    assert list(filter(None, map(skill_body, blocks))) == ["typed", '<skill name="x">y</skill>', "read"]

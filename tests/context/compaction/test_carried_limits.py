"""How much of the user's words, pins, answers and skills a compaction carries, to the token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentcli.context.compaction.carryover import (
    SKILL_TOKENS,
    carried_tokens,
    folded,
    pins_report,
    skill_body,
    skills_in_use,
    verbatim_answer,
    verbatim_prompts,
)
from agentcli.context.compaction.handoff import handoff_settings, relevant_words
from agentcli.context.settings import ContextSettings, HandoffSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated, Chars4
from agentcli.context.view import view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.message import Text
from agentcli.core.model import ModelSpec
from agentcli.core.record import Compaction, Pin, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

COUNTS = TokenCounter(Chars4())


def window(story: Story, usable: int = 100_000, **settings: Any) -> Window:
    chosen = ContextSettings(**settings)
    limits = replace(limits_of(ModelSpec("demo", "m"), chosen), usable=usable)
    return Window(view(fold(story.records)), limits, COUNTS, chosen, TRAITS)


def words_of(story: Story, usable: int = 100_000, **settings: Any) -> list[int]:
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
    assert words_of(talk(6), keep_user_tokens=tokens) == turns
    assert words_of(talk(6), usable=1_000, keep_user_share=tokens / 1_000) == turns


@each_row(
    ("whole", "turns"), [(0, [1, 6]), (EACH - 1, [1, 5, 6]), (EACH, [1, 4, 5, 6]), (2 * EACH, [1, 2, 3, 4, 5, 6])]
)
def test_beyond_their_share_older_prompts_are_folded_and_twice_beyond_left_out(whole: int, turns: list[int]) -> None:
    assert words_of(talk(6), usable=1_000, whole_user_share=whole / 1_000) == turns


def test_a_prompt_that_is_pinned_is_not_carried_twice() -> None:
    story = talk(3)
    story.add(Pin(3))
    assert words_of(story) == [1, 3]


@pytest.mark.parametrize(("length", "whole"), [(100, True), (101, False)])
def test_a_prompt_of_a_hundred_characters_is_not_folded(length: int, whole: bool) -> None:
    text = ("word " * 30)[:length]
    piece = VerbatimText(7, 1, text)
    assert (folded(piece) == piece) is whole
    if not whole:
        assert folded(piece).text == "word " * 19 + "word … [record #7 holds all of it]"


def test_a_rule_in_the_beginning_is_not_repeated() -> None:
    piece = VerbatimText(7, 1, "Never touch the vault. " + "word " * 40)
    assert folded(piece).text.count("Never touch the vault.") == 1


def test_carried_texts_are_counted_in_their_tags_and_as_blocks() -> None:
    pieces = [VerbatimText(1, 1, "x" * 60), VerbatimText(2, 1, "y" * 60)]
    assert carried_tokens(pieces, COUNTS) == 2 * EACH
    assert carried_tokens([], COUNTS) == 0
    calibrated = TokenCounter(Calibrated(rate=0.25, per_block=8.0))
    assert carried_tokens(pieces, calibrated) == 2 * EACH + 16


def test_pins_are_reported_above_their_limit_with_the_three_largest() -> None:
    pins = [VerbatimText(n, 1, "x" * 4 * 10 * n) for n in (1, 2, 3, 4)]
    assert pins_report(pins, COUNTS, 100) == ""
    assert pins_report(pins, COUNTS, 99) == (
        "Pinned messages take 100 tokens; more than 99 is too much to work with. "
        "Unpin message 4 (40 tokens), message 3 (30 tokens), message 2 (20 tokens) with /unpin."
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
    return [(piece.text[13], COUNTS.text(piece.text)) for piece in skills_in_use(made.view.messages, made)]


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


def test_the_words_that_a_handoff_takes_along_are_about_what_follows_and_new() -> None:
    texts = [
        VerbatimText(1, 1, "parser " + "x" * 33),
        VerbatimText(2, 2, "lexer " + "x" * 34),
        VerbatimText(3, 3, "other " + "x" * 34),
    ]

    def taken(following: str, tokens: int) -> list[int]:
        return [piece.seq for piece in relevant_words(texts, following, COUNTS, tokens)]

    assert taken("", 30) == [1, 2, 3]
    assert taken("", 29) == [2, 3]
    assert taken("Fix the PARSER.", 20) == [1, 3]
    assert taken("See /parser/, then lexer", 20) == [1, 2]
    assert taken("The par ser", 20) == [2, 3]
    assert taken("Fix the parser now", 10) == [1]
    assert taken("Fix the parser now", 9) == []


def test_a_handoff_has_its_own_sizes() -> None:
    settings = ContextSettings(handoff=HandoffSettings(tokens=600, files_read=1, commands=2, decision_characters=3))
    form = handoff_settings(settings, 100_000).snapshot
    assert (form.share, form.files_read, form.commands, form.decision_characters, form.lookups) == (0.006, 1, 2, 3, 0)
    assert handoff_settings(settings, 1_000).snapshot.share == settings.snapshot.share
    assert handoff_settings(settings, 0).snapshot.share == settings.snapshot.share

"""Plans at their limits: the newest messages that stay, where a history splits, which outputs are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentcli.context.policies.auto import early, plan, split
from agentcli.context.policies.plans import (
    Plan,
    compactable,
    keep_all,
    opens_step,
    opens_turn,
    pinned,
    recent_from,
    seqs,
    without_current,
)
from agentcli.context.policies.regions import Region, by_worth, heading
from agentcli.context.settings import AutoSettings, ContextSettings, PruneSettings, RegionSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.message import Text
from agentcli.core.model import ModelSpec
from agentcli.core.record import Compaction, Pin
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row


def seen(story: Story) -> View:
    return view(fold(story.records))


def window(story: Story, usable: int, **settings: Any) -> Window:
    chosen = ContextSettings(**settings)
    limits = limits_of(ModelSpec("m", "m", window=10 * usable, max_output=1_000), chosen)
    marks = replace(limits, usable=usable, soft=int(usable * chosen.soft), hard=int(usable * chosen.hard))
    return Window(seen(story), marks, TokenCounter(Chars4()), chosen, TRAITS)


def talk(*turns: str) -> Story:
    """Messages by a letter each: the user's, an answer, a call with its result."""
    story = Story()
    for each in "".join(turns):
        match each:
            case "u":
                story.user("x" * 40)
            case "a":
                story.says("y" * 40)
            case "c":
                story.reads("f", "z" * 40)
    return story


@each_row(
    ("messages", "tokens", "at_most", "first"),
    [
        ("uu", 0, False, 0),  # joined in one message of the user, which waits
        ("uaua", 0, False, 3),
        ("uaua", 1, False, 3),
        ("uaua", 10, False, 3),
        ("uaua", 11, False, 2),
        ("uaua", 20, False, 2),
        ("uaua", 21, False, 1),
        ("uaua", 99, False, 0),
        ("uaua", 10, True, 3),
        ("uaua", 19, True, 3),
        ("uaua", 20, True, 2),
        ("uaua", 9, True, 3),  # the newest answer stays in any case
        ("uauau", 0, False, 3),
        ("uauccu", 0, False, 1),
        ("uaucc", 0, False, 1),
        ("ucc", 0, False, 5),
        ("ucc", 10, False, 4),
        ("ucc", 10, True, 4),
        ("ucc", 9, True, 5),
    ],
)
def test_the_newest_tokens_and_the_newest_answer_stay(messages: str, tokens: int, at_most: bool, first: int) -> None:
    shown = seen(talk(messages)).messages
    assert recent_from(shown, [10] * len(shown), tokens, at_most=at_most) == first


def test_nothing_stays_of_nothing() -> None:
    assert recent_from((), (), 10) == 0
    assert split((), (), 0.5, 0) == 0
    assert without_current(()) == ()


@each_row(
    ("messages", "share", "latest", "at"),
    [
        ("uauaua", 0.5, 9, 4),  # half is three messages: the next of the user is the fifth
        ("uauaua", 1 / 3, 9, 2),
        ("uauaua", 0.34, 9, 4),
        ("uauaua", 0.5, 4, 4),
        ("uauaua", 0.5, 3, 3),
        ("uauaua", 0.5, 2, 2),
        ("uauaua", 0.9, 9, 5),
        ("uauaua", 1.0, 9, 5),
        ("uauauau", 0.6, 9, 4),
        ("uauauau", 0.99, 9, 6),
        ("uccc", 0.5, 9, 5),
        ("uccc", 0.5, 4, 3),
        ("uccc", 0.5, 0, 0),
        ("u", 0.5, 9, 0),
    ],
)
def test_a_history_splits_before_a_message_of_the_user_or_else_between_two_steps(
    messages: str, share: float, latest: int, at: int
) -> None:
    shown = seen(talk(messages)).messages
    assert split(shown, [10] * len(shown), share, latest) == at


def test_a_turn_opens_with_words_and_a_step_with_a_reply() -> None:
    shown = seen(talk("uca")).messages
    assert [opens_turn(message) for message in shown] == [True, False, False, False]
    assert [opens_step(message) for message in shown] == [False, True, False, True]
    assert without_current(shown) == shown
    assert without_current(shown[:3]) == shown[:2]


def test_a_compactor_s_blocks_are_no_part_of_what_can_be_compacted() -> None:
    story = talk("uaua")
    story.add(Compaction("auto", "compressed", "sliding", (2, 2), 3, "short", kept=(1,)))
    shown = seen(story)
    ours = shown.compaction
    assert ours is not None
    left = compactable(shown)
    assert [(message.seq, [block.seq for block in message.blocks]) for message in left] == [
        (1, [1]),
        (3, [3]),
        (4, [4]),
    ]
    assert seqs(shown.messages) == (1, 3, 4, 5)
    assert compactable(seen(talk("ua"))) == seen(talk("ua")).messages


def test_a_plan_that_keeps_all_names_what_is_kept_and_pinned() -> None:
    story = talk("uaua")
    story.add(Pin(2))
    now = window(story, 1_000)
    made = keep_all("auto", now, "why", trigger="soft")
    assert (made.kept, made.pinned, made.trigger, made.reasons) == ((1, 2, 3, 4), (2,), "soft", ("why",))
    assert made.tokens_before == made.tokens_after_estimate == now.tokens == 40
    assert not made.does_something
    assert pinned(now.view.messages) == (2,)


@each_row(
    ("trigger", "boundary", "phase", "due"),
    [
        (None, True, "x", False),
        ("soft", True, "", True),
        ("soft", False, "", False),
        ("soft", False, "x", True),
        ("hard", False, "", True),
        ("manual", False, "", True),
    ],
)
def test_a_plan_is_due_at_a_boundary_or_above_the_hard_mark(
    trigger: Any, boundary: bool, phase: str, due: bool
) -> None:
    assert Plan("auto", trigger, phase=phase).is_due(boundary) is due


def test_outputs_that_must_stay_are_cut_the_largest_first_until_it_fits() -> None:
    story = Story()
    story.user("Read them.")
    for name, size in (("a", 4_000), ("b", 2_000), ("c", 3_000), ("d", 500)):
        story.reads(name, "z" * 4 * size)

    def cut(usable: int, records: Story = story, clipped: int = 200) -> tuple[str, ...]:
        auto, prune = AutoSettings(clipped=clipped, summary_least=100_000), PruneSettings(enabled=False)
        return plan(window(records, usable, auto=auto, prune=prune, min_shrink=0.0), forced=True).clipped

    # They hold 9 527 tokens; above nine tenths of what is usable they are cut to 0.56 of it, each to 200 tokens.
    assert [cut(usable) for usable in (10_586, 10_585, 7_000, 5_000)] == [
        (), ("call_1",), ("call_1", "call_3"), ("call_1", "call_3", "call_2"),
    ]  # fmt: skip
    assert cut(2_000, clipped=249) == ("call_1", "call_3", "call_2", "call_4")
    assert cut(2_000, clipped=250) == ("call_1", "call_3", "call_2"), "it would free no more than stays of it"
    story.add(Pin(3))
    assert cut(7_000) == ("call_3", "call_2", "call_4")


def test_below_its_floor_and_the_least_that_it_frees_nothing_is_compacted_early() -> None:
    story = talk("ua")
    at = [
        early(window(story, usable, compact_floor=0.2, compact_least=2_000))
        for usable in (10_000, 10_001, 10_006, 2_858, 2_859)
    ]
    assert at == [2_000, 2_001, 2_002, 0, 2_000]


@each_row(
    ("sizes", "order"),
    [
        ([(10, 500), (20, 5_000), (30, 50_000)], [2, 1, 0]),
        ([(10, 10_001), (20, 10_000), (30, 1_000)], [0, 2, 1]),
        ([(10, 999), (20, 999), (30, 1_000)], [2, 1, 0]),
        ([(10, 1_000), (10, 1_000), (20, 999)], [0, 1, 2]),
    ],
)
def test_large_regions_are_summarised_first_and_small_ones_last(sizes: list[tuple[int, int]], order: list[int]) -> None:
    blocks = list(seen(talk("u" + "c" * len(sizes))).blocks)[2::2]
    made = [Region((block,), tokens, size) for block, (tokens, size) in zip(blocks, sizes, strict=True)]
    assert [made.index(region) for region in by_worth(made, RegionSettings())] == order
    assert heading(2, 5) == "[compacted summary of turns 2-5]"
    assert isinstance(made[0].keys, tuple)


def test_a_note_of_the_shell_is_a_place_to_split() -> None:
    story = talk("ua")
    story.user("", Text("the shell said so", True, "shell"))
    shown = seen(story).messages
    assert split(shown, [10] * len(shown), 0.5, 9) == 2


@each_row(("least", "helps"), [(0.10, False), (0.05, False), (0.04, True), (0.0, True)])
def test_a_compaction_must_free_its_share_of_the_prompt(least: float, helps: bool) -> None:
    story = Story()
    for prompt, answer in ((7_000, 700), (6_900, 100)):
        story.user("x" * 4 * prompt)
        story.says("y" * 4 * answer)
    whole = {"keep_user_tokens": 100_000, "keep_user_share": 1.0, "keep_piece_share": 1.0, "whole_user_share": 1.0}
    now = window(story, 16_200, min_shrink=least, prune=PruneSettings(enabled=False), **whole)
    made = plan(now, forced=True)
    assert now.tokens == 14_700
    assert made.does_something is helps
    assert helps or made.reasons[0].startswith("Compacting would not help: 14,0")

"""Compaction by regions: old tool outputs and reminders are summarised in their places, the largest first; words and calls stay."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.policies.regions import EXHAUSTED, NOTHING_OLD, Region, by_worth, heading, regions
from agentcli.context.settings import (
    ContextSettings,
    RegionSettings,
)
from agentcli.core.record import Compaction
from tests.context.policies.test_plans import seen
from tests.context.policies.test_plans import talk as spoken
from tests.context.story import Story
from tests.context.test_policies import MODEL, TIGHT, planned, steps, talk, window
from tests.tables import each_row


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
    blocks = list(seen(spoken("u" + "c" * len(sizes))).blocks)[2::2]
    made = [Region((block,), tokens, size) for block, (tokens, size) in zip(blocks, sizes, strict=True)]
    assert [made.index(region) for region in by_worth(made, RegionSettings())] == order
    assert heading(2, 5) == "[compacted summary of turns 2-5]"
    assert isinstance(made[0].keys, tuple)


def test_regions_are_runs_of_old_outputs_and_the_largest_go_first() -> None:
    story = Story()
    story.user("go")
    for size in (600, 14_000, 5_000, 9_000):
        story.reads(f"{size}.txt", "word " * (size // 5))
    for _ in range(3):
        story.user("next")
        story.says("ok")
    found = regions(window(story, TIGHT))
    assert [region.bytes for region in found] == [600, 14_000, 5_000, 9_000]
    assert [region.bytes for region in by_worth(found, TIGHT.regions)] == [14_000, 9_000, 5_000, 600]


def test_regions_speak_of_summaries_only_where_there_are_some() -> None:
    fresh = planned("regions", talk(10, 10), model=replace(MODEL, window=200_000))
    assert (fresh.trigger, fresh.reasons) == ("manual", (NOTHING_OLD,))
    done = Story()
    done.user("Read it.")
    done.reads("f.py", "x" * 4_000)
    done.says("Read.")
    done.add(
        Compaction("auto", "compressed", "regions", (3, 3), 1, replaced={"call_1": "[compacted summary of turns 1-1]"})
    )
    assert planned("regions", done, model=replace(MODEL, window=200_000)).reasons == (EXHAUSTED,)


def test_a_short_recent_part_is_pinned_by_tokens_and_turns() -> None:
    story = steps(6, 4_000)
    wide = ContextSettings(regions=RegionSettings(keep_recent_tokens=10**9, keep_recent_turns=4))
    assert planned("regions", story, wide, model=replace(MODEL, window=2_000)).reasons == (EXHAUSTED,)
    for _ in range(4):
        story.user("next")
        story.says("ok")
    assert planned("regions", story, wide, model=replace(MODEL, window=2_000)).regions

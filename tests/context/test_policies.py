"""Each policy decides what its source says it decides."""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from datetime import datetime, timedelta

import pytest

from agentcli.context.policies import POLICIES, compacts_from, compacts_in_turn_from, plan, policy_named
from agentcli.context.policies.plans import Plan, compactable, split_plan
from agentcli.context.pruning.plan import warm_chance
from agentcli.context.settings import POLICIES as NAMES
from agentcli.context.settings import (
    ContextSettings,
    GeminiSettings,
    OpencodeSettings,
    PolicyName,
    RegionSettings,
    SlidingSettings,
)
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, view
from agentcli.context.window import Limits, Window, limits_of, window_of
from agentcli.core.errors import ConfigError
from agentcli.core.history import fold
from agentcli.core.message import Text, Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Carry, Compaction, Pin, Prune
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

MODEL = ModelSpec("demo", "main", window=20_000, max_output=4_000)
SETTINGS = ContextSettings()


def seen(story: Story) -> View:
    return view(fold(story.records))


def planned(
    policy: PolicyName,
    story: Story,
    settings: ContextSettings = SETTINGS,
    model: ModelSpec = MODEL,
    forced: bool = True,
) -> Plan:
    return plan(window(story, replace(settings, policy=policy), model), forced=forced)


def window(story: Story, settings: ContextSettings = SETTINGS, model: ModelSpec = MODEL) -> Window:
    return window_of(seen(story), model, TokenCounter(), settings, TRAITS)


def talk(*lengths: int) -> Story:
    """Prompts and answers of so many characters, one after the other."""
    story = Story()
    for number, length in enumerate(lengths):
        story.user("u" * length) if number % 2 == 0 else story.says("a" * length)
    return story


def steps(count: int, size: int = 1_000, prompt: str = "Fix it.") -> Story:
    story = Story()
    story.user(prompt)
    for n in range(count):
        story.reads(f"f{n}.py", "x = 1\n" * (size // 6))
    return story


def test_every_policy_of_the_settings_has_a_planner() -> None:
    assert tuple(POLICIES) == NAMES
    with pytest.raises(ConfigError, match=r"Did you mean auto\?"):
        policy_named("autto")


# gemini


def test_gemini_compresses_everything_when_the_model_has_finished() -> None:
    story = talk(100, 5_000)
    made = planned("gemini", story)
    assert (made.split, made.summarised) == (None, (1, 2))


def test_gemini_goes_back_to_the_last_place_while_a_call_is_open() -> None:
    story = talk(1_000, 1_000, 100)
    story.says("", story.call("read", file_path="a"))
    made = planned("gemini", story)
    assert made.split == 3
    only = Story()
    only.user("go")
    only.says("", only.call("read", file_path="a"))
    assert planned("gemini", only).summarised == ()


def test_gemini_never_splits_before_results() -> None:
    story = steps(10)
    assert planned("gemini", story).summarised == ()
    assert planned("gemini", story).trigger == "manual"


def test_gemini_does_not_count_the_message_that_waits() -> None:
    story = talk(500, 500, 500, 500)
    alone = planned("gemini", story)
    assert alone.summarised == (1, 2, 3, 4)
    story.user("w" * 50_000)
    made = planned("gemini", story)
    assert (made.summarised, made.split) == ((1, 2, 3, 4), 5)


def test_gemini_does_nothing_below_half_of_the_limit_unless_forced() -> None:
    story = talk(*[2_000] * 10)
    tokens = TokenCounter().view(seen(story))
    half = ContextSettings(gemini=GeminiSettings(limit=2 * tokens))
    more = ContextSettings(gemini=GeminiSettings(limit=2 * tokens + 2))
    assert planned("gemini", story, half, forced=False).trigger == "hard"
    assert planned("gemini", story, more, forced=False).trigger is None
    assert planned("gemini", story, more, forced=True).trigger == "manual"
    assert SETTINGS.gemini.limit == 1_048_576
    assert SETTINGS.gemini.limits["gemini-1.5-pro"] == 2_097_152


# opencode


def test_opencode_compacts_when_the_last_reply_overflowed_the_window_less_the_reserve() -> None:
    for used, trigger in ((16_000, None), (16_001, "hard")):
        story = Story()
        story.user("go")
        story.says("ok", usage=Usage(input=used - 1_500, output=500, cache_read=1_000, cache_write=9_000))
        assert planned("opencode", story, forced=False).trigger == trigger


def test_opencode_reserves_no_more_than_its_maximum() -> None:
    story = Story()
    story.user("go")
    story.says("ok", usage=Usage(input=68_001))
    wide = ModelSpec("demo", "wide", window=100_000, max_output=64_000)
    assert planned("opencode", story, model=wide, forced=False).trigger == "hard"
    narrow = ContextSettings(opencode=OpencodeSettings(output_reserve=10_000))
    assert planned("opencode", story, narrow, model=wide, forced=False).trigger is None


def test_opencode_summarises_everything_but_a_prompt_that_waits() -> None:
    story = steps(3)
    story.says("Done.")
    assert planned("opencode", story).split is None
    assert planned("opencode", story).kept == ()
    story.user("and now?")
    assert planned("opencode", story).kept == (len(story.records),)


def test_opencode_obeys_the_switch() -> None:
    story = Story()
    story.user("go")
    story.says("ok", usage=Usage(input=99_999))
    assert planned("opencode", story, ContextSettings(autocompact=False), forced=False).trigger is None


# regions

TIGHT = ContextSettings(regions=RegionSettings(keep_recent_tokens=1_000, keep_recent_turns=2))


def test_outputs_of_parallel_calls_are_one_region() -> None:
    story = Story()
    story.user("go")
    calls = [story.call("read", file_path=f"{n}.py") for n in range(3)]
    story.says("", *calls)
    for call in calls:
        story.result(call, "text\n" * 2_000)
    for _ in range(3):
        story.user("next")
        story.says("ok")
    made = planned("regions", story, TIGHT, model=replace(MODEL, window=5_000, max_output=500))
    assert made.regions == (("call_1", "call_2", "call_3"),)
    assert made.split is None


def test_regions_leave_words_calls_pins_and_the_recent_part() -> None:
    story = steps(10, 4_000)
    story.add(Pin(3))
    story.add(Prune(("call_2",), 1_000, "test"))
    made = planned("regions", story, TIGHT, model=replace(MODEL, window=2_000, max_output=500))
    gone = [call for region in made.regions for call in region]
    assert "call_1" not in gone
    assert "call_2" not in gone
    assert "call_10" not in gone
    assert set(gone) <= {f"call_{n}" for n in range(3, 10)}
    results = {record.seq for record in story.records if record.kind == "tool_result"}
    assert set(made.summarised) <= results


def test_regions_that_are_not_to_become_smaller_are_left_alone() -> None:
    for ratio in (0, 1):
        rules = with_settings({"regions.ratio": ratio, "regions.keep_recent_tokens": 100})
        made = planned("regions", steps(10, 4_000), rules)
        assert (made.summarised, made.tokens_after_estimate) == ((), made.tokens_before)


def test_opencode_says_how_it_counts() -> None:
    story = talk(10)
    story.says("Yes.", usage=Usage(1_000, 50, 0, 200, 9_000))
    assert "comes to 1,250 tokens of 16,000 usable ones" in planned("opencode", story, forced=False).reasons[0]


def test_regions_halve_what_is_there_where_it_is_asked_for_below_the_aim() -> None:
    story = steps(30, 4_000)
    wide = replace(MODEL, window=200_000)
    before = planned("regions", story, TIGHT, model=wide)
    assert before.regions
    assert before.tokens_after_estimate <= 0.5 * before.tokens_before
    assert planned("regions", story, TIGHT, model=wide, forced=False).regions == ()


def test_regions_stop_at_the_aim() -> None:
    story = steps(40, 2_000)
    before = TokenCounter().view(seen(story))
    window = int(before / 0.75)
    made = planned("regions", story, TIGHT, model=replace(MODEL, window=window), forced=False)
    assert made.trigger == "soft"
    assert made.tokens_after_estimate <= window * 0.5
    assert len(made.regions) < 38
    assert (
        planned("regions", story, TIGHT, model=replace(MODEL, window=int(before / 0.95)), forced=False).trigger
        == "hard"
    )
    assert (
        planned("regions", story, TIGHT, model=replace(MODEL, window=int(before / 0.65)), forced=False).trigger is None
    )


# sliding


def test_sliding_keeps_the_first_three_and_the_newest_twenty() -> None:
    story = talk(*[300] * 101)
    made = planned("sliding", story, model=replace(MODEL, window=30_000))
    assert made.primers == (1, 2, 3)
    assert made.kept == (1, 2, 3, *range(82, 102))
    assert made.split == 82
    assert made.summarised == tuple(range(4, 82))


def test_sliding_begins_at_three_quarters_of_the_budget() -> None:
    story = talk(*[400] * 60)
    tokens = TokenCounter().view(seen(story))
    for budget, trigger in ((int(tokens / 0.75), "hard"), (int(tokens / 0.75) + 2, None)):
        settings = ContextSettings(sliding=SlidingSettings(budget=budget))
        assert (
            planned("sliding", story, settings, model=replace(MODEL, window=200_000), forced=False).trigger == trigger
        )


def test_sliding_begins_when_the_window_of_messages_is_full() -> None:
    settings = ContextSettings(sliding=SlidingSettings(window=30, primers=2, recents=10))
    assert planned("sliding", talk(*[5] * 30), settings, forced=False).trigger is None
    made = planned("sliding", talk(*[5] * 31), settings, forced=False)
    assert made.trigger == "hard"
    assert len(made.kept) == 12


def test_sliding_never_holds_more_messages_than_it_may_ever_keep() -> None:
    settings = ContextSettings(sliding=SlidingSettings(max_history=30))
    assert planned("sliding", talk(*[5] * 30), settings, forced=False).trigger is None
    assert planned("sliding", talk(*[5] * 31), settings, forced=False).trigger == "hard"
    less = replace(settings, sliding=replace(settings.sliding, window=20))
    assert planned("sliding", talk(*[5] * 21), less, forced=False).trigger == "hard"


def test_sliding_leaves_room_for_the_summary_and_the_rules() -> None:
    story = steps(60, 3_000)
    bare = planned("sliding", story)
    ruled = steps(60, 3_000)
    ruled.user("Go on. " + " ".join(f"Never touch folder{n} under any circumstances whatsoever." for n in range(60)))
    ruled.says("Fine.")
    tight = planned("sliding", ruled)
    aim = int(0.375 * limits().usable)
    kept = [message for message in seen(ruled).messages if message.seq in tight.kept]
    rules = TokenCounter().text("Never touch folder10 under any circumstances whatsoever. " * 60)
    assert sum(map(TokenCounter().message, kept)) + SETTINGS.sliding.summary_tokens + rules <= aim
    assert len(tight.kept) < len(bare.kept)


def test_sliding_keeps_calls_with_their_results_at_both_edges() -> None:
    story = steps(60, 300)
    made = planned("sliding", story, ContextSettings(sliding=SlidingSettings(primers=2, recents=20)))
    assert made.primers == (1, 2, 3)
    assert made.split is not None
    assert story.records[made.split - 1].kind == "message"


def test_sliding_keeps_fewer_where_the_newest_alone_exceed_the_aim() -> None:
    story = steps(60, 6_000)
    made = planned("sliding", story)
    assert made.split is not None
    assert made.tokens_after_estimate <= 0.375 * limits_of(MODEL, SETTINGS).usable + 2_500
    assert len(made.kept) < 23


# auto


def limits() -> Limits:
    return limits_of(MODEL, SETTINGS)


def test_auto_waits_for_its_marks() -> None:
    def trigger(tokens: int, **more: bool) -> str | None:
        story = Story()
        story.user("go")
        story.reads("a", "x")
        story.says("ok", usage=Usage(input=tokens))
        return planned("auto", story, **more).trigger  # type: ignore[arg-type]

    assert trigger(limits().soft - 1, forced=False) is None
    assert trigger(limits().soft, forced=False) == "soft"
    assert trigger(limits().hard, forced=False) == "hard"


def test_auto_prefers_a_message_of_the_user() -> None:
    story = talk(*[1_500] * 10)
    assert planned("auto", story).split == 9


def test_auto_splits_one_long_turn_between_two_steps() -> None:
    story = steps(30, 1_500)
    made = planned("auto", story)
    assert made.split is not None
    assert story.records[made.split - 1].body.role == "assistant"  # type: ignore[union-attr]
    gone = sum(1 for record in story.records if record.seq < made.split) / len(story.records)
    assert 0.65 < gone < 0.8


def test_auto_moves_the_split_until_what_is_kept_fits() -> None:
    story = steps(10, 600)
    for n in range(6):
        story.reads(f"big{n}.py", "y = 2\n" * 2_000)
    made = planned("auto", story)
    assert made.tokens_after_estimate < limits().soft


def test_auto_clears_what_was_queued_in_the_part_that_stays() -> None:
    story = steps(30, 1_500)
    for n in range(8):
        story.reads("same.py", f"v = {n}\n" * 300)
    made = planned("auto", story)
    kept = set(made.kept)
    outdated = {record.body.call_id for record in story.records if record.seq in kept and record.kind == "tool_result"}  # type: ignore[union-attr]
    assert made.cleared
    assert set(made.cleared) < outdated
    assert "call_38" not in made.cleared
    assert "Will clear" in " ".join(made.reasons)


def test_auto_says_with_numbers_that_there_is_too_little() -> None:
    story = Story()
    for n in range(4):
        story.user(f"{n} " + "Please look at this long description of the problem. " * 40)
        story.says("ok")
    made = planned("auto", story)
    assert made.summarised == ()
    assert made.reasons == ("Not enough to compact yet (2,952 tokens).",)


def test_auto_updates_a_snapshot_and_never_summarises_it() -> None:
    from agentcli.core.record import Carry, Compaction

    story = steps(30, 1_500)
    story.add(
        Compaction(
            "manual",
            "compressed",
            "auto",
            (1, 40),
            42,
            snapshot="<state_snapshot></state_snapshot>",
            carry=Carry(turn=1),
        )
    )
    for n in range(30):
        story.reads(f"g{n}.py", "z = 3\n" * 250)
    made = planned("auto", story)
    assert min(made.summarised) == 42
    assert 62 not in (*made.summarised, *made.kept)


LARGE = ModelSpec(
    "anthropic",
    "demo",
    window=200_000,
    max_output=32_000,
    prices=Prices(5, 25, 0.5, 6.25),
    summary_prices=Prices(1.75, 8.75),
)


def long_talk(replies: int = 30, tokens: int = 80_000, prompt: str = "And now the next thing.") -> Story:
    """Steps of so many tokens in all, half of them said by the model itself, then a prompt that waits."""
    story = Story()
    story.user("Fix it.")
    half = int(tokens / (replies - 1) / 2 / TokenCounter().rule.rate)
    for n in range(replies - 1):
        story.does("read", "x = 1\n" * (half // 6), file_path=f"f{n}.py", text="word " * (half // 5))
    story.says("Done.")
    story.user(prompt)
    return story


def early(story: Story, settings: ContextSettings = SETTINGS, model: ModelSpec = LARGE) -> Plan:
    return plan(window(story, settings, model))


def test_auto_compacts_below_the_soft_mark_when_that_pays() -> None:
    made = early(long_talk())
    assert (
        limits_of(LARGE, SETTINGS).usable * SETTINGS.compact_floor
        < made.tokens_before
        < limits_of(LARGE, SETTINGS).soft
    )
    assert made.trigger == "soft"
    assert made.does_something
    says = re.search(r"are below the soft mark of 117,599, but it pays off after (\d+) requests\.", made.reasons[0])
    assert says
    # By hand: the summary at the price of the summariser, what stays written anew, and the reads that are saved from then on.
    gone = sum(TokenCounter().block(block) for block in seen(long_talk()).blocks if block.seq in made.summarised)
    call = gone * 0.35 + (4_000 + 1_000) * 1.75
    removed = made.tokens_before - made.tokens_after_estimate
    assert int(says[1]) == math.ceil((call + made.tokens_after_estimate * 1.15) / (removed * 0.1))


def test_auto_keeps_to_its_marks_where_a_compaction_does_not_pay() -> None:
    story = long_talk()
    assert early(story, replace(SETTINGS, compact_horizon=0)).reasons[0].endswith("are below the soft mark of 117,599.")
    for settings in (
        replace(SETTINGS, compact_horizon=0),
        replace(SETTINGS, auto=replace(SETTINGS.auto, lean="memory")),
        replace(SETTINGS, compact_horizon=5),
        replace(SETTINGS, compact_price=5),
        replace(SETTINGS, compact_floor=0.6),
        replace(SETTINGS, compact_least=90_000),
        replace(SETTINGS, autocompact=False),
    ):
        made = early(story, settings)
        assert (made.trigger, made.does_something) == (None, False)
    assert "would pay only after" in early(story, replace(SETTINGS, compact_horizon=5)).reasons[1]


def test_what_a_summary_costs_comes_from_the_model_table_unless_it_is_set() -> None:
    def waits(settings: ContextSettings = SETTINGS, summary: Prices | None = LARGE.summary_prices) -> int:
        reasons = early(long_talk(), settings, replace(LARGE, summary_prices=summary)).reasons
        said = re.search(r"after (\d+) requests", " ".join(reasons))
        assert said
        return int(said[1])

    assert waits(summary=Prices(0.1, 0.5)) < waits() < waits(summary=LARGE.prices) == waits(summary=None)
    assert waits(replace(SETTINGS, compact_price=0.35)) == waits()
    assert waits(replace(SETTINGS, compact_price=1.0)) == waits(summary=None)


def test_auto_never_compacts_early_in_the_middle_of_a_turn() -> None:
    story = long_talk()
    assert early(story).trigger == "soft"
    story.reads("now.py")
    assert early(story).trigger is None
    story.says("Done.")
    assert early(story).trigger is None


def test_auto_does_not_compact_a_short_session_early() -> None:
    assert early(long_talk(replies=30)).trigger == "soft"
    made = early(long_talk(replies=5))
    assert made.trigger is None
    assert "would pay only after" in made.reasons[1]


def test_auto_does_not_compact_a_tiny_window_early() -> None:
    tiny = replace(LARGE, window=32_000, max_output=8_000)
    made = early(long_talk(tokens=15_000), model=tiny)
    assert (
        limits_of(tiny, SETTINGS).usable * SETTINGS.compact_floor < made.tokens_before < limits_of(tiny, SETTINGS).soft
    )
    assert made.trigger is None
    less = replace(SETTINGS, compact_least=5_000)
    assert early(long_talk(tokens=15_000), less, tiny).trigger == "soft"


def test_auto_compacts_at_once_when_the_cache_is_cold() -> None:
    story = long_talk(replies=5)
    waits = story.records[-1]
    story.records[-1] = replace(waits, time="2026-01-01T00:04:00Z")
    assert early(story).trigger is None
    story.records[-1] = replace(waits, time="2026-01-01T01:00:00Z")
    made = early(story)
    assert made.trigger == "soft"
    assert made.reasons[0].endswith("but it pays off at once: the cache is cold.")


def test_the_cache_is_warm_by_a_chance_that_falls_around_the_end_of_its_lifetime() -> None:
    story = long_talk()

    def after(minutes: float) -> tuple[float, float]:
        story.records[-1] = replace(story.records[-1], time=(start + timedelta(minutes=minutes)).isoformat())
        made = early(story, replace(SETTINGS, compact_horizon=1_000))
        waits = re.search(r"after (\d+) requests", made.reasons[0])
        chance = warm_chance(window(story, SETTINGS, LARGE), start + timedelta(minutes=minutes))
        return round(chance, 3), float(waits[1]) if waits else 0.0

    start = datetime.fromisoformat(story.records[-2].time)
    chances, waits = zip(*map(after, (0, 4, 4.5, 5, 5.5, 6, 60)), strict=True)
    assert chances == (1, 1, 0.75, 0.5, 0.25, 0, 0)
    assert waits[0] == waits[1] > waits[2] > waits[3] > waits[4] >= waits[5] == waits[6] == 0


def test_a_switched_model_has_no_warm_cache() -> None:
    story = long_talk()
    now = datetime.fromisoformat(story.records[-1].time)
    assert warm_chance(window(story, SETTINGS, replace(LARGE, id="another")), now) == 0


def test_thoughts_that_a_compaction_would_cost_are_part_of_its_price() -> None:
    story = long_talk()
    thoughtful = long_talk()
    thoughtful.says("so", thinking="hm " * 28_000)
    thoughtful.user("And now the next thing.")
    bound = replace(LARGE, preserved_thinking=True)
    assert early(story, model=bound).trigger == "soft"
    assert early(thoughtful).trigger == "soft"
    assert early(thoughtful, model=bound).trigger is None


def test_a_view_of_nothing_needs_no_plan() -> None:
    for policy in POLICIES:
        made = planned(policy, Story())
        assert (made.summarised, made.kept, made.split) == ((), (), None)


def test_synthetic_messages_of_the_user_are_places_to_split_too() -> None:
    story = talk(2_000, 2_000)
    story.user("", Text("the shell said so", True, "shell"))
    story.says("ok")
    assert planned("gemini", story).split == 3


# settings


def busy() -> Story:
    """Short turns, then a long one with outputs of all sizes that fills most of a small window."""
    story = Story()
    for turn in range(6):
        story.user(f"Part {turn}: " + "please look at it closely. " * 20)
        story.reads(f"s{turn}.py", "y = 2\n" * 30)
        story.says("Done with it. " * 10)
    story.user("Now all of it.")
    for n, size in enumerate((200, 400, 6_000, 500, 9_000, 300, 2_000, 14_000, 4_000)):
        story.reads(f"f{n}.py", "x = 1\n" * (size // 6))
    story.says("So far so good.", usage=Usage(input=14_500, output=600))
    story.user("And now?")
    return story


NUMBERS: dict[str, tuple[object, str, dict[str, object]]] = {
    "soft": (0.99, "auto", {}),
    "hard": (0.99, "auto", {}),
    "preserve": (0.02, "auto", {"keep_recent": 0}),
    "keep_recent": (0, "auto", {"preserve": 0.02}),
    "keep_recent_share": (0.0, "auto", {"preserve": 0.02}),
    "min_shrink": (0.99, "auto", {}),
    "keep_user_tokens": (10, "auto", {}),
    "keep_user_share": (0.0, "auto", {}),
    "keep_piece_share": (0.001, "auto", {}),
    "output_reserve": (100, "auto", {}),
    "auto.summary_share": (0.01, "auto", {}),
    "auto.summary_least": (3_000, "auto", {}),
    "auto.summary_most": (500, "auto", {}),
    "auto.air": (0.3, "auto", {"preserve": 0.9}),
    "gemini.threshold": (0.1, "gemini", {"gemini.limit": 40_000}),
    "gemini.preserve": (0.8, "gemini", {"gemini.limit": 20_000}),
    "gemini.limit": (10_000, "gemini", {}),
    "gemini.limits": ({"main": 10_000}, "gemini", {}),
    "gemini.pressure": (0.0, "gemini", {"gemini.limit": 20_000}),
    "gemini.summary_tokens": (1, "gemini", {"gemini.limit": 10_000}),
    "opencode.output_reserve": (100, "opencode", {}),
    "opencode.summary_tokens": (1, "opencode", {}),
    "regions.soft": (0.95, "regions", {}),
    "regions.hard": (0.55, "regions", {}),
    "regions.aim": (0.7, "regions", {}),
    "regions.keep_recent_tokens": (100, "regions", {}),
    "regions.keep_recent_turns": (1, "regions", {}),
    "regions.ratio": (2, "regions", {}),
    "regions.buffer": (9_000, "regions", {"regions.hard": 0.55}),
    "sliding.primers": (1, "sliding", {}),
    "sliding.recents": (5, "sliding", {"sliding.aim": 0.99}),
    "sliding.trigger": (0.99, "sliding", {}),
    "sliding.aim": (0.7, "sliding", {}),
    "sliding.window": (10, "sliding", {"sliding.trigger": 0.99}),
    "sliding.max_history": (10, "sliding", {"sliding.trigger": 0.99}),
    "sliding.budget": (13_000, "sliding", {}),
    "sliding.task_budget": (13_000, "sliding", {}),
    "sliding.summary_tokens": (1, "sliding", {}),
}
"""A value for each number of a policy, and under which other settings it shows in the plan."""


FULL = {"opencode": replace(MODEL, max_output=9_000)}
"""Models whose window is full where it is not under MODEL."""


def with_settings(values: dict[str, object]) -> ContextSettings:
    settings = ContextSettings()
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        if section:
            inner = replace(getattr(settings, section), **{name: value})
            settings = replace(settings, **{section: inner})
        else:
            settings = replace(settings, **{name: value})
    return settings


@each_row("key", NUMBERS)
def test_each_number_of_a_policy_is_a_setting(key: str) -> None:
    value, policy, others = NUMBERS[key]
    story = busy()
    usual, changed = (
        planned(policy, story, with_settings(values), FULL.get(policy, MODEL), forced=False)
        for values in (others, {**others, key: value})
    )
    assert usual != changed


@each_row("section", ["auto", "gemini", "opencode", "regions", "sliding"])
def test_no_number_of_a_policy_is_left_out_above(section: str) -> None:
    names = {f"{section}.{field.name}" for field in fields(getattr(SETTINGS, section)) if field.name != "estimator"}
    elsewhere = {
        "sliding.temperature",
        "auto.scratchpad",
        "auto.clipped",
        "auto.lean",
        "regions.slack",
        "regions.large_output",
        "regions.small_output",
    }
    assert names - elsewhere == {key for key in NUMBERS if key.startswith(section + ".")}


def test_how_much_is_left_of_an_output_that_is_cut_is_a_setting() -> None:
    story = Story()
    story.user("Read it.")
    story.reads("huge.py", "x = 1\n" * 9_000)
    frees = [planned("auto", story, with_settings({"auto.clipped": left})).tokens_after_estimate for left in (400, 100)]
    assert frees[0] - frees[1] == 300


def test_what_a_summary_costs_besides_itself_decides_whether_an_early_compaction_pays() -> None:
    story, settings = long_talk(), with_settings({"auto.scratchpad": 1_000_000})
    assert early(story).does_something
    assert not early(story, settings).does_something


def test_a_split_frees_what_is_summarised_and_the_former_snapshot_and_adds_the_new_one() -> None:
    story = talk(*[2_000] * 8)
    plain = window(story)
    before = plain.tokens
    sizes = [plain.size(message) for message in plain.view.messages]
    made = split_plan("auto", "manual", plain, 5, 300, "why", primers=1)
    assert (made.summarised, made.kept, made.primers) == ((2, 3, 4, 5), (1, 6, 7, 8), (1,))
    assert (made.split, made.tokens_before, made.reasons) == (6, before, ("why",))
    assert made.tokens_after_estimate == before - sum(sizes[1:5]) + 300
    assert split_plan("auto", "manual", plain, 8, 300).split is None
    story.add(Compaction("auto", "compressed", "auto", (1, 2), 3, "snapshot " * 500))
    again = window(story)
    compaction = again.view.compaction
    assert compaction is not None
    snapshot = sum(again.size(block) for block in again.view.blocks if block.seq == compaction.seq)
    first = sum(map(again.size, compactable(again.view)[:2]))
    assert snapshot > 500
    assert split_plan("auto", "manual", again, 2, 300).tokens_after_estimate == again.tokens - first - snapshot + 300


def compacted(by: str, turn: int, after: int = 0) -> Story:
    """A long talk that a compaction has just left whole, then so many characters and a prompt that waits."""
    story = long_talk()
    story.add(
        Compaction(by, "compressed", "auto", (0, 0), 1, "<state_snapshot/>", carry=Carry(turn=turn))  # type: ignore[arg-type]
    )
    if after:
        story.says("Done.")
        story.user("word " * (after // 5))
    return story


def test_after_a_compaction_by_hand_one_for_its_price_waits_for_something_new() -> None:
    fresh = early(compacted("manual", 1, after=1_000))
    assert fresh.trigger is None
    assert re.fullmatch(r"Only \d{3} tokens are new since the last compaction\.", fresh.reasons[-1])
    assert early(compacted("manual", 1, after=100_000)).optional
    assert early(compacted("auto", 1, after=1_000)).optional, "after one of the policy's own only its turn counts"


def test_a_prompt_after_a_compaction_at_a_mark_does_not_compact_again_for_its_price() -> None:
    story, million = long_talk(400, 850_000), replace(LARGE, window=1_000_000)
    settings = with_settings({"prune.enabled": False})
    floor = limits_of(million, settings).usable * settings.compact_floor
    for other in ({"compact_horizon": 5.0}, {"compact_least": 300_000}):
        less = early(story, with_settings({"prune.enabled": False, **other}), million)
        assert less.tokens_after_estimate > floor, "what would not pay at the next prompt stays"
    made = early(story, settings, million)
    assert (made.trigger, made.optional) == ("soft", False)
    assert made.split
    covers = (made.summarised[0], made.summarised[-1])
    story.add(Compaction("auto", "compressed", "auto", covers, made.split, "snapshot " * 500, carry=Carry(turn=2)))
    story.says("Done.")
    story.user("Go on.")
    assert not early(story, settings, million).does_something


def test_a_turn_is_compacted_again_at_the_hard_mark_only() -> None:
    again = early(compacted("auto", 2))
    assert again.trigger is None
    assert again.reasons[-1].startswith("This turn was compacted before, and ")
    assert again.reasons[-1].endswith(f" tokens are below the hard mark of {limits_of(LARGE, SETTINGS).hard:,}.")
    assert early(compacted("auto", 1)).trigger == "soft", "the compaction was in the turn before"
    assert plan(window(compacted("auto", 2), SETTINGS, LARGE), forced=True).trigger == "manual"
    small = replace(LARGE, window=90_000, max_output=8_000)
    assert early(compacted("auto", 2), model=small).trigger == "hard"


@each_row("name", NAMES)
def test_the_mark_within_a_turn_is_where_a_plan_no_longer_waits_for_a_prompt(name: PolicyName) -> None:
    settings = replace(SETTINGS, policy=name)
    found = {
        plan(now, forced=False).is_due(boundary=False)
        for count in range(4, 80)
        if compacts_from(now := window(steps(count), settings)) < now.tokens < compacts_in_turn_from(now)
    }
    assert found == ({False} if POLICIES[name].waits else set())
    full = next(now for count in range(4, 120) if (now := window(steps(count), settings)).tokens > 1.1 * now.usable)
    assert compacts_in_turn_from(full) >= compacts_from(full) > 0
    off = replace(full, settings=replace(settings, autocompact=False))
    assert (compacts_from(off), compacts_in_turn_from(off)) == (0, 0)


def test_what_precedes_the_newest_steps_must_be_worth_a_summary() -> None:
    story = talk(400, 400, 100)
    made = planned("auto", story)
    assert (made.trigger, made.does_something) == ("manual", False)
    assert re.fullmatch(r"Not enough to compact yet \([\d,]+ tokens\)\.", made.reasons[0])


def test_auto_says_what_it_summarises_and_up_to_where() -> None:
    assert planned("auto", talk(*[4_000] * 10)).reasons == (
        "13,680 of 16,000 usable tokens are in use.",
        "Will summarise the first 8 of 10 messages, up to a message of the user.",
    )
    assert planned("auto", steps(40)).reasons[1] == (
        "Will summarise the first 57 of 81 messages, up to a pause between two steps of one long turn, "
        "whose message stays word for word."
    )


def test_the_differences_of_the_policies() -> None:
    found = {
        name: (policy.prompt, policy.form, policy.stricter, policy.prunes, policy.keeps_prompts, policy.by_provider)
        for name, policy in POLICIES.items()
    }
    assert found == {
        "auto": ("compact.md", "snapshot", True, "request", True, False),
        "gemini": ("compact.md", "snapshot", False, "", False, False),
        "opencode": ("compact-opencode.md", "prose", True, "prompt", False, False),
        "regions": ("compact-regions.md", "regions", True, "", False, False),
        "sliding": ("compact-sliding.md", "prose", True, "", False, False),
        "native": ("compact.md", "snapshot", True, "request", True, False),
        "provider": ("compact.md", "snapshot", True, "request", True, True),
    }
    assert all(policy.items == policy.priced == policy.keeps_prompts for policy in POLICIES.values())

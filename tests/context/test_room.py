"""The compactions before a request: the policy's own if it is due, then others until the prompt fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from agentcli.context.policies import nothing_due, plan, worth_counting
from agentcli.context.policies.plans import Plan
from agentcli.context.room import (
    MOST_AT_ONCE,
    compactions,
    due_prune,
    forced,
    last_prune,
    prunes_of_turn,
    worth_trying,
)
from agentcli.context.settings import POLICIES, ContextSettings, PolicyName
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import ViewMessage, view
from agentcli.context.window import Window, limits_of, window_of
from agentcli.core.history import fold
from agentcli.core.message import ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Prune
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

MODEL = ModelSpec("demo", "demo", window=200_000, max_output=32_000, context_editing=True, compacts_from=50_000)
LIMITS = limits_of(MODEL, ContextSettings())
SETTINGS = ContextSettings(compact_horizon=0)


def long_talk(turns: int = 12) -> Story:
    story = Story()
    for turn in range(turns):
        story.user(f"Part {turn}.")
        story.reads(f"f{turn}.txt", "x" * 30_000)
        story.says("word " * 500)
    story.user("And now?")
    return story


def of(tokens: int, policy: PolicyName = "auto", story: Story | None = None, **more: object) -> Window:
    """A window that the provider counts as so many tokens."""
    settings = replace(SETTINGS, policy=policy, **more)  # type: ignore[arg-type]
    seen = view(fold((story or long_talk()).records))
    made = window_of(seen, MODEL, TokenCounter(), settings, TRAITS)
    made.counter.set_exact(seen, tokens)
    return made


def made(*windows: Window, boundary: bool = True, futile: int = 0) -> list[Plan]:
    """The plans while the window is each of these in turn, and stays the last."""
    left = list(windows)

    def window() -> Window:
        return left.pop(0) if len(left) > 1 else left[0]

    return list(compactions(window, boundary=boundary, futile=lambda: futile))


FULL = LIMITS.usable + 1
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_third_prune_beyond_the_hard_mark_gives_way_to_a_compaction() -> None:
    over = of(LIMITS.hard + 1_000)
    assert [due_prune(over, NOW, made)[0] is not None for made in (0, 1, 2, 3)] == [True, True, False, False]
    assert "a compaction is due" in due_prune(over, NOW, 2)[1]
    assert plan(over).is_due(boundary=False)
    alone = of(LIMITS.hard + 1_000, autocompact=False)
    assert due_prune(alone, NOW, 2)[0] is not None, "nothing else makes room"


def test_a_prune_beyond_the_hard_mark_that_frees_little_gives_way_to_a_compaction() -> None:
    story = long_talk(2)
    more = of(LIMITS.hard + 1_000, story=story)
    assert due_prune(more, NOW)[0] is not None
    least = replace(more.settings, prune=replace(more.settings.prune, least=30_000))
    little = replace(more, settings=least)
    prune, why = due_prune(little, NOW)
    assert (prune, "a compaction is due" in why) == (None, True)
    last, _ = last_prune(little)
    assert last is not None
    assert 0 < last.tokens < 30_000


def test_a_prune_that_is_not_enough_is_made_before_the_compaction_that_follows() -> None:
    over = of(LIMITS.hard + 30_000, story=long_talk(2))
    prune, _ = due_prune(over, NOW)
    assert prune is not None
    assert prune.tokens < 30_000


def test_prunes_of_the_turn_are_counted_from_its_prompt() -> None:
    story = long_talk(3)
    calls = [body.call_id for body in (record.body for record in story.records) if isinstance(body, ToolResult)]
    story.records.insert(-1, replace(story.records[-1], body=Prune((calls[0],), 9, "old")))
    story.records = [replace(record, seq=n) for n, record in enumerate(story.records, 1)]
    history = fold(story.records)
    assert prunes_of_turn(history, replace(of(1), view=view(history))) == 0
    story.add(Prune((calls[1],), 9, "now"))
    story.add(Prune((calls[2],), 9, "by the provider", by="anthropic"))
    history = fold(story.records)
    assert prunes_of_turn(history, replace(of(1), view=view(history))) == 1


class Messages(tuple[ViewMessage, ...]):
    """Messages that count how often all of them are read backwards."""

    times = 0

    def __reversed__(self) -> Iterator[ViewMessage]:
        self.times += 1
        return reversed(tuple(self))


def test_prunes_of_a_long_turn_are_counted_without_a_search_for_its_prompt() -> None:
    story = long_talk(3)
    story.add(Prune(("none",), 9, "now"))
    history = fold(story.records)
    seen = view(history)
    messages = Messages(seen.messages)
    assert prunes_of_turn(history, replace(of(1), view=replace(seen, messages=messages))) == 1
    assert messages.times == 0


@each_row("policy", POLICIES)
@pytest.mark.parametrize("autocompact", [True, False])
def test_nothing_is_due_exactly_if_no_policy_would_do_anything(policy: PolicyName, autocompact: bool) -> None:
    first, later, skipped = Story(), Story(), 0
    first.user("Hello.")
    for _ in range(5):
        later.user("Hello.")
        later.says("Hello! " * 50)
    later.user("And now?")
    for tokens, story in product(range(100, MODEL.window + 30_000, 2_900), (first, later)):
        window = of(tokens, policy, story, autocompact=autocompact, compact_horizon=30.0)
        if nothing_due(window):
            skipped += 1
            assert due_prune(window, datetime.now(UTC))[0] is None
            assert not worth_counting(window)
            assert made(window) == made(window, boundary=False) == []
        else:
            assert tokens > (0.3 if story is first else 0.1) * MODEL.window
    assert skipped > 20


def test_something_may_be_due_once_the_model_has_called_a_tool() -> None:
    story = Story()
    story.user("Hello.")
    story.says("Hello!")
    story.user("What is in a.py?")
    assert nothing_due(of(1_000, story=story))
    story.reads("a.py")
    assert not nothing_due(of(1_000, story=story))


def test_nothing_is_done_below_the_marks_or_if_it_is_switched_off() -> None:
    assert made(of(LIMITS.soft - 1)) == []
    assert made(of(FULL, autocompact=False)) == []


@pytest.mark.parametrize(("boundary", "count"), [(True, 1), (False, 0)])
def test_at_the_soft_mark_the_policy_s_plan_comes_between_turns_alone(boundary: bool, count: int) -> None:
    plans = made(of(LIMITS.soft), of(20_000), boundary=boundary)
    assert [plan.trigger for plan in plans] == ["soft"] * count


def test_at_the_hard_mark_it_comes_in_the_middle_of_work_too() -> None:
    assert [plan.trigger for plan in made(of(LIMITS.hard), of(20_000), boundary=False)] == ["hard"]


@pytest.mark.parametrize(("futile", "count"), [(0, 1), (LIMITS.hard - 1, 1), (LIMITS.hard, 0)])
def test_after_a_failure_it_is_not_tried_again_at_the_same_size(futile: int, count: int) -> None:
    assert len(made(of(LIMITS.hard), of(20_000), futile=futile)) == count


def test_a_prompt_that_does_not_fit_is_compacted_though_that_failed_before() -> None:
    assert len(made(of(FULL), of(20_000), futile=FULL)) == 1


def test_if_a_compaction_fails_another_way_is_tried_next_and_the_same_one_is_not() -> None:
    plan, cut = made(of(FULL))
    assert (plan.policy, plan.trigger, plan.clipped, bool(cut.clipped), cut.summarised) == (
        "auto",
        "hard",
        (),
        True,
        (),
    )
    plan, cut = made(of(FULL, "regions"))
    assert (plan.policy, plan.trigger, cut.policy, bool(cut.clipped)) == ("regions", "soft", "regions", True)
    first, second, *_ = made(of(FULL, "sliding"))
    assert (first.policy, first.trigger, second.policy, second.trigger) == ("sliding", "hard", "auto", "manual")


def test_while_it_gets_smaller_the_way_may_be_the_same() -> None:
    shrinking = [of(FULL + 50_000 - n) for n in range(10)]
    assert len(made(*shrinking)) == 1 + MOST_AT_ONCE
    assert len(made(*shrinking[:2], of(LIMITS.usable))) == 2, "what fits needs no more"


def test_where_a_policy_can_free_nothing_the_last_resort_does_and_says_so() -> None:
    stuck = of(FULL, "sliding", sliding=replace(SETTINGS.sliding, primers=100, trigger=1.0))
    plans = made(stuck)
    assert [(plan.policy, bool(plan.clipped)) for plan in plans] == [
        ("auto", False),
        ("sliding", True),
    ]
    assert plans[0].reasons[0] == "The policy sliding can free nothing more, so this compaction is one of auto."


def test_a_compaction_that_is_asked_for_is_the_policy_s_own_if_that_frees_something() -> None:
    assert forced(of(50_000)).policy == "auto"
    assert forced(of(50_000, "gemini")).policy == "gemini"
    stuck = of(50_000, "sliding", sliding=replace(SETTINGS.sliding, primers=100))
    assert forced(stuck).policy == "auto"
    nothing = forced(of(10, "auto", Story()))
    assert (nothing.policy, nothing.does_something) == ("auto", False)


@each_row(
    ("tokens", "futile", "worth"),
    [
        (0, 0, False),
        (1, 0, True),
        (104_500, 95_000, False),
        (104_501, 95_000, True),
        (LIMITS.soft - 1, 117_000, False),
        (LIMITS.soft, 117_000, True),
        (LIMITS.soft, LIMITS.soft - 1, True),
        (LIMITS.soft, LIMITS.soft, False),
        (LIMITS.hard, LIMITS.hard - 1, True),
        (LIMITS.hard, LIMITS.hard, False),
    ],
)
def test_it_is_worth_trying_again_past_a_mark_or_if_the_view_has_grown(tokens: int, futile: int, worth: bool) -> None:
    assert worth_trying(of(tokens), futile) is worth


def test_the_size_of_a_failure_is_asked_for_only_if_it_matters() -> None:
    def unread() -> int:
        raise AssertionError

    def plans(window: Window) -> Iterator[Plan]:
        return compactions(lambda: window, boundary=True, futile=unread)

    assert list(plans(of(LIMITS.soft - 1))) == []
    assert next(plans(of(FULL))).does_something

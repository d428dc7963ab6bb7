"""Where in a window something begins by itself."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from agentcli.context.policies import POLICIES, compacts_early_from, compacts_from, plan, prunes_from, worth_counting
from agentcli.context.settings import POLICIES as NAMES
from agentcli.context.settings import AutoSettings, ContextSettings, GeminiSettings, PolicyName, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, view
from agentcli.context.window import Limits, Window, limits_of
from agentcli.core.history import fold
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

LIMITS = limits_of(ModelSpec("m", "m", "demo", window=200_000, max_output=32_000), ContextSettings())


def window(settings: ContextSettings, limits: Limits = LIMITS) -> Window:
    return Window(View(()), limits, TokenCounter(), settings, TRAITS)


def test_auto_compacts_at_the_soft_mark_and_where_it_pays_from_its_floor_on() -> None:
    settings = ContextSettings(compact_floor=0.25, compact_least=20_000)
    assert compacts_from(window(settings)) == LIMITS.soft
    assert compacts_early_from(window(settings)) == LIMITS.usable // 4
    assert compacts_early_from(window(replace(settings, compact_least=60_000))) == 60_000


def test_what_is_switched_off_has_no_mark() -> None:
    assert compacts_early_from(window(ContextSettings(compact_horizon=0))) == 0
    assert compacts_early_from(window(ContextSettings(auto=AutoSettings(lean="memory")))) == 0
    assert compacts_early_from(window(ContextSettings(), replace(LIMITS, soft=20_000))) == 0
    off = window(ContextSettings(autocompact=False, prune=PruneSettings(enabled=False)))
    assert (compacts_from(off), compacts_early_from(off), prunes_from(off)) == (0, 0, 0)


def test_every_other_policy_has_its_own_mark_and_none_before_it() -> None:
    gemini = ContextSettings(policy="gemini", gemini=GeminiSettings(limit=100_000, threshold=0.5))
    assert compacts_from(window(gemini)) == 50_000
    assert compacts_from(window(ContextSettings(policy="opencode"))) < LIMITS.window
    for policy in ("gemini", "opencode", "regions", "sliding"):
        settings = ContextSettings(policy=policy)  # type: ignore[arg-type]
        assert compacts_from(window(settings)) > 0
        assert compacts_early_from(window(settings)) == 0


def test_the_policies_that_prune_say_from_where() -> None:
    assert prunes_from(window(ContextSettings())) == 10_000 + int(LIMITS.usable * 0.0625)
    assert prunes_from(window(ContextSettings(policy="opencode"))) == 60_000
    assert [name for name, policy in POLICIES.items() if policy.prunes] == ["auto", "opencode", "native", "provider"]
    assert prunes_from(window(ContextSettings(policy="sliding"))) == 0


@each_row("policy", NAMES)
def test_each_policy_compacts_just_where_it_says(policy: PolicyName) -> None:
    settings = ContextSettings(policy=policy, gemini=GeminiSettings(limit=150_001, threshold=0.7))

    def trigger(tokens: int) -> str | None:
        story = Story()
        story.user("go")
        story.says("ok", usage=Usage(input=tokens))
        return plan(Window(view(fold(story.records)), LIMITS, TokenCounter(), settings, TRAITS)).trigger

    mark = compacts_from(window(settings))
    first = mark + 1 if policy in ("opencode", "regions") else mark
    assert trigger(first - 1) is None
    assert trigger(first) is not None


@pytest.mark.parametrize(
    ("policy", "marks"),
    [("auto", (117_599, 151_199, 168_000)), ("regions", (140_000, 151_199, 168_000)), ("gemini", (151_199, 168_000))],
)
def test_an_exact_count_is_worth_asking_for_close_to_a_mark_and_above_what_is_usable(
    policy: PolicyName, marks: tuple[int, ...]
) -> None:
    now = window(ContextSettings(policy=policy, exact_count_margin=0.02))

    def worth(tokens: int, boundary: bool = False) -> bool:
        now.counter.set_exact(now.view, tokens)
        return worth_counting(now, boundary=boundary)

    below, between = range(0, 168_000, 1_000), marks if policy == "gemini" else (marks[0], marks[-1])
    for boundary, deciding in ((False, marks), (True, between)):
        assert [worth(tokens, boundary) for tokens in below] == [
            any(abs(tokens - mark) <= 3_360 for mark in deciding) for tokens in below
        ]
    assert all(map(worth, range(168_001, 400_000, 1_000)))


@pytest.mark.parametrize("autocompact", [True, False])
@each_row("text", ["Mend the file. ", "Пожалуйста, исправь файл. ", "Διορθώστε το αρχείο. ", "请修复这个文件。"])
def test_a_prompt_is_left_uncounted_only_where_it_is_too_large_in_any_script(text: str, autocompact: bool) -> None:
    settings = ContextSettings(autocompact=autocompact)

    def worth(characters: int) -> bool:
        story = Story()
        story.user(text * (characters // len(text)))
        return worth_counting(Window(view(fold(story.records)), LIMITS, TokenCounter(), settings, TRAITS))

    assert worth(7 * LIMITS.usable)
    assert not worth(9 * LIMITS.usable)


def test_the_leaning_to_memory_protects_more_outputs() -> None:
    memory = ContextSettings(auto=AutoSettings(lean="memory"))
    assert prunes_from(window(memory)) == ceil(40_000 / 0.75)  # it must free a quarter of such a prompt
    assert (memory.protected(40_000), ContextSettings().protected(40_000)) == (10_000, 6_000)

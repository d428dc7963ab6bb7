"""The plan that is shown is what would happen: the prune first, and a compaction only if that is not enough."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agentcli.context.policies.plans import Plan
from agentcli.context.room import forecast, outlook, preview
from agentcli.context.settings import POLICIES, ContextSettings, PolicyName, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import limits_of, window_of
from agentcli.core.history import fold
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Pin
from agentcli.tools.registry import TRAITS
from tests.context.story import Story

CAREFUL = ContextSettings(prune=PruneSettings(auto_protect=10_000, auto_turns=1))
"""With outputs of the newest turn protected."""
MODEL = ModelSpec("demo", "demo", window=200_000, max_output=32_000)
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def reads(*characters: int, turns: int = 1) -> Story:
    """Each turn reads outputs of so many characters, and is answered."""
    story = Story()
    for turn in range(turns):
        story.user(f"Read more, part {turn}.")
        for size in characters:
            story.reads(f"f{len(story.records)}.txt", "x" * size)
        story.says("Read.")
    return story


def ahead(
    story: Story, policy: PolicyName = "auto", settings: ContextSettings | None = None, now: datetime = NOW
) -> Plan:
    history = fold(story.records)
    settings = replace(settings or ContextSettings(), policy=policy)
    return forecast(history, window_of(view(history), MODEL, TokenCounter(), settings, TRAITS), now)


def outputs(story: Story) -> list[str]:
    return [record.body.call_id for record in story.records if record.kind == "tool_result"]  # type: ignore[union-attr]


def test_where_a_prune_makes_room_enough_nothing_is_summarised() -> None:
    story = reads(*[30_000] * 16)
    made = ahead(story, settings=CAREFUL)
    assert made.trigger == "hard"
    assert set(made.cleared) < set(outputs(story))
    assert (made.summarised, made.split) == ((), None)
    assert made.tokens_before > limits_of(MODEL, ContextSettings()).hard
    assert made.tokens_after_estimate < limits_of(MODEL, ContextSettings()).soft
    assert "the window demands" in made.reasons[0]


def test_where_pruning_is_switched_off_the_model_is_called() -> None:
    made = ahead(reads(*[30_000] * 16), settings=ContextSettings(prune=PruneSettings(enabled=False)))
    assert (made.trigger, made.cleared) == ("hard", ())
    assert made.summarised


def test_what_is_cleared_because_it_is_free_calls_for_no_compaction() -> None:
    story = reads(*[30_000] * 4, turns=2)
    cold = ahead(story, settings=CAREFUL, now=NOW + timedelta(hours=1))
    assert cold.trigger is None
    assert cold.cleared
    assert "cold" in cold.reasons[0]
    assert cold.tokens_after_estimate < cold.tokens_before
    assert ahead(story, settings=CAREFUL).cleared == ()


def test_opencode_counts_the_text_of_each_output_as_opencode_does() -> None:
    """The newest 40,000 tokens of four UTF-16 units each stay, and what lies beyond goes if it holds more than 20,000."""
    for oldest, cleared in ((80_000, 0), (80_001, 1)):
        story = reads(oldest)
        story.user("And this?")
        story.reads("wide.txt", "🔥" * 80_000)
        story.says("Read.")
        for turn in range(2):
            story.user(f"Go on {turn}.")
            story.says("Yes.")
        made = ahead(story, "opencode")
        assert made.cleared == tuple(outputs(story)[:cleared])
        assert made.trigger is None
        guessed = ContextSettings(prune=PruneSettings(estimator="gemini"))
        assert len(ahead(story, "opencode", guessed).cleared) == 2, "1.3 tokens for each of the wide characters"


def test_a_prompt_that_waits_is_no_turn_that_has_passed() -> None:
    story = reads(120_000, 120_000, turns=1)
    story.user("One more.")
    story.says("Yes.")
    assert not ahead(story, "opencode").cleared
    story.user("And now?")
    assert not ahead(story, "opencode").cleared, "it is asked once the prompt has been answered"
    story.says("Yes.")
    assert len(ahead(story, "opencode").cleared) == 1


def test_the_other_policies_clear_nothing() -> None:
    story = reads(*[30_000] * 16, turns=2)
    others: tuple[PolicyName, ...] = ("gemini", "regions", "sliding")
    for policy in others:
        assert ahead(story, policy, now=NOW + timedelta(hours=1)).cleared == ()


def test_a_session_without_a_word_is_planned_for() -> None:
    for policy in POLICIES:
        made = ahead(Story(), policy)
        assert (made.trigger, made.split, made.summarised, made.kept, made.cleared) == (None, None, (), (), ())


def test_past_the_hard_mark_as_much_is_cleared_as_leads_to_the_soft_one_and_no_more() -> None:
    made = ahead(reads(*[15_000] * 32), settings=CAREFUL)
    limits = limits_of(MODEL, ContextSettings())
    one = (made.tokens_before - made.tokens_after_estimate) / len(made.cleared)
    assert limits.soft - one <= made.tokens_after_estimate <= limits.soft


def previewed(story: Story, prices: Prices | None, **more: object) -> list[str]:
    model = replace(MODEL, prices=prices, **more)  # type: ignore[arg-type]
    counter = TokenCounter()
    counter.head = 10_000
    window = window_of(view(fold(story.records)), model, counter, ContextSettings(), TRAITS)
    return [*preview(window, model)]


def figures(line: str) -> list[float]:
    """The numbers of a line."""
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", line)]


def test_a_preview_says_what_goes_what_stays_and_when_it_pays() -> None:
    story = reads(*[30_000] * 6)
    plan, goes, stays, tokens, price, saves = previewed(story, Prices(5, 25, 0.5, 6.25))
    assert plan.startswith("Policy auto. ")
    messages, first, last, gone = figures(goes)
    assert (messages, first, last) == (11, 1, 11)
    assert stays == f"Kept word for word: {len(story.records) - 11} records."
    before, later, share = figures(tokens)
    assert share == round(100 * (1 - later / before))
    assert 10_000 + gone < before
    summary = (gone * 5 + ContextSettings().snapshot.expected_tokens * 25) / 1e6
    anew, saved = (later - 10_000) * (6.25 - 0.5) / 1e6, (before - later) * 0.5 / 1e6
    assert price == f"Price now: ${summary:.4f} for the summary, ${anew:.4f} to rewrite the cache."
    assert saves == (
        f"Saves ${saved:.4f} a request. It pays off after {math.ceil((summary + anew) / saved)} requests on a warm cache."
    )


def test_a_preview_without_prices_counts_in_fresh_tokens() -> None:
    *_, tokens, price = previewed(reads(*[30_000] * 6), None)
    before, later, _ = figures(tokens)
    requests = math.ceil((later - 10_000) * 1.15 / ((before - later) * 0.1))
    assert price == (
        f"Price: unknown for this model; the cache is rewritten for {later - 10_000:,.0f} tokens. "
        f"It pays off after {requests} requests on a warm cache."
    )


def test_a_preview_counts_pins_and_says_so_where_nothing_is_worth_it() -> None:
    story = reads(*[30_000] * 6)
    story.add(Pin(3))
    assert re.search(r"^Kept word for word: \d+ records, 1 of them pinned\.$", previewed(story, None)[2])
    [line] = previewed(Story(), None)
    assert line.startswith("Policy auto. Not enough to compact yet (")


def test_the_outlook_says_in_the_words_of_the_preview_what_goes_and_what_stays() -> None:
    story = reads(*[30_000] * 6)
    window = window_of(view(fold(story.records)), MODEL, TokenCounter(), ContextSettings(), TRAITS)
    _, *lines = outlook(window)
    assert lines == [*preview(window, MODEL)][1:4]
    assert [line.partition(":")[0] for line in lines] == ["Summarised", "Kept word for word", "Tokens"]
    small = window_of(view(fold(Story().records)), MODEL, TokenCounter(), ContextSettings(), TRAITS)
    assert not outlook(small)

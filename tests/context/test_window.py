"""The marks of a window, and the price list in units of a fresh token."""

from dataclasses import replace

import pytest

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, view
from agentcli.context.window import limits_of, output_ratio, price_ratios, reply_tokens, window_of
from agentcli.core.model import ModelSpec, Prices
from tests.context.made import history, prompt, reply
from tests.tables import each_row


@each_row(
    ("window", "max_output", "usable"),
    [
        (200_000, 64_000, 168_000),
        (1_000_000, 128_000, 968_000),
        (1_048_576, 8_192, 1_040_384),
        (16_000, 16_000, 8_000),
        (8_000, 8_000, 6_000),
    ],
)
def test_what_a_prompt_may_fill_is_the_window_less_the_reply(window: int, max_output: int, usable: int) -> None:
    limits = limits_of(ModelSpec("p", "m", window=window, max_output=max_output), ContextSettings())
    assert limits.usable == usable
    assert (limits.soft, limits.hard) == (int(usable * 0.7), int(usable * 0.9))


def test_a_window_knows_its_model() -> None:
    prices, cheap = Prices(5, 25), Prices(1, 5)
    model = ModelSpec("p", "m", prices=prices, summary_prices=cheap, cache_lifetime=60.0, preserved_thinking=True)
    limits = limits_of(model, ContextSettings())
    assert (limits.model, limits.window, limits.max_output) == ("m", model.window, model.max_output)
    assert (limits.prices, limits.summary_prices) == (prices, cheap)
    assert (limits.cache_lifetime, limits.preserved_thinking) == (60.0, True)


def test_a_view_is_estimated_with_what_precedes_it() -> None:
    counter = TokenCounter()
    seen = view(history(prompt("hello"), reply("there"), prompt("again", 2)))
    counter.use_model("m", ["You are a tool."], [])
    window = window_of(seen, ModelSpec("p", "m"), counter, ContextSettings(), {})
    assert window.estimate(seen) == counter.overhead(["You are a tool."], []) + counter.view(seen)
    assert window.estimate(seen) > window.estimate(view(history(prompt("hello")))) > window.estimate(View(())) > 0


def test_the_size_of_a_message_is_that_of_its_blocks() -> None:
    counter = TokenCounter(Chars4())
    seen = view(history(prompt("x" * 40), reply("y" * 80)))
    window = window_of(seen, ModelSpec("p", "m"), counter, ContextSettings(), {})
    assert [window.size(message) for message in seen.messages] == [window.size(block) for block in seen.blocks]
    assert [window.size(block) for block in seen.blocks] == [10, 20]


def test_every_mark_can_be_moved() -> None:
    moved = ContextSettings(soft=0.5, hard=0.6, output_reserve=1_000)
    limits = limits_of(ModelSpec("p", "m", window=101_000), moved)
    assert (limits.usable, limits.soft, limits.hard) == (100_000, 50_000, 60_000)


def test_a_summary_is_priced_in_fresh_tokens_of_the_model_that_it_is_made_for() -> None:
    own = ModelSpec("p", "m", prices=Prices(5, 25, 0.5, 6.25))
    assert limits_of(own, ContextSettings()).summary_ratios == (1.0, 5.0)
    cheap = limits_of(replace(own, summary_prices=Prices(1, 5)), ContextSettings())
    assert cheap.summary_ratios == (0.2, 1.0)
    unknown = limits_of(replace(own, prices=None, summary_prices=Prices(1, 5)), ContextSettings())
    assert unknown.summary_ratios == (1.0, 5.0)
    free = limits_of(replace(own, prices=Prices(0, 8), summary_prices=Prices(1, 5)), ContextSettings())
    assert free.summary_ratios == (1.0, 5.0)


def test_prices_are_told_in_fresh_tokens() -> None:
    assert price_ratios(Prices(5, 25, 0.5, 6.25)) == (1.25, 0.1)
    assert price_ratios(Prices(0.3, 2.5, 0.03)) == (1.0, pytest.approx(0.1))
    assert price_ratios(Prices(2, 8)) == (1.0, 1.0)
    assert price_ratios(None) == price_ratios(Prices(0, 8, 1, 1)) == (1.25, 0.1)
    assert output_ratio(Prices(5, 20)) == 4.0
    assert output_ratio(None) == output_ratio(Prices(0, 8)) == 5.0


@each_row("policy", ["gemini", "opencode", "regions", "sliding"])
def test_a_policy_counts_by_its_own_estimator_and_else_by_the_common_one(policy: str) -> None:
    common = ContextSettings(estimator="shannon")
    settings = replace(common, **{policy: replace(getattr(common, policy), estimator="tiktoken")})
    assert settings.estimator_of(policy) == "tiktoken"
    common = replace(common, **{policy: replace(getattr(common, policy), estimator="")})
    assert common.estimator_of(policy) == common.estimator_of("auto") == "shannon"


def test_a_small_window_reserves_a_quarter_for_the_reply_and_any_other_half() -> None:
    assert [reply_tokens(window) for window in (0, 4_000, 10_000, 10_001, 200_000)] == [0, 1_000, 2_500, 5_000, 100_000]

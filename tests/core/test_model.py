"""Facts about models."""

from __future__ import annotations

import pytest

from agentcli.core.message import Text, Thinking, Usage
from agentcli.core.model import ModelSpec, PriceChange, Prices, RequestMessage, ToolSchema


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (ModelSpec("google", "any", kind="google"), "never"),
        (ModelSpec("openrouter", "google/Gemini-3", kind="openai"), "never"),
        (ModelSpec("ollama", "gemma3", kind="openai"), "never"),
        (ModelSpec("anthropic", "claude-sonnet-5", kind="anthropic"), "ranges"),
    ],
)
def test_gemini_reads_lines_without_numbers_wherever_it_runs(model: ModelSpec, numbers: str) -> None:
    assert model.line_numbers == numbers
    assert model.name == f"{model.provider}/{model.id}"


def test_a_new_price_applies_from_its_first_day_on() -> None:
    old, new, newest = Prices(1, 2), Prices(3, 4), Prices(5, 6)
    changes = (PriceChange("2030-02-01", newest), PriceChange("2030-01-10", new))
    spec = ModelSpec("m", "anthropic", prices=old, price_changes=changes)
    assert spec.on("2030-01-09") is spec
    assert (spec.on("2030-01-10").prices, spec.on("2030-01-10").price_changes) == (new, changes[:1])
    assert (spec.on("2030-02-01").prices, spec.on("2030-02-01").price_changes) == (newest, ())
    assert spec.cost(Usage(input=1_000_000)) == 1


def test_a_model_without_prices_has_no_cost() -> None:
    assert ModelSpec("m", "anthropic").cost(Usage(input=1)) is None


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(100, 10), 100 * 1 + 10 * 2),
        (Usage(0, 0, 5), 0),
        (Usage(40, 10, 0, 30, 30), 40 * 1 + 10 * 2 + 30 * 3 + 30 * 4),
        (Usage(41, 10, 0, 30, 30), 41 * 10 + 10 * 20 + 30 * 30 + 30 * 40),
        (Usage(0, 500), 500 * 2),
    ],
)
def test_a_request_beyond_a_size_costs_another_price_as_a_whole(usage: Usage, cost: float) -> None:
    prices = Prices(1, 2, 3, 4, over=100, over_input=10, over_output=20, over_cache_read=30, over_cache_write=40)
    assert prices.cost(usage) == pytest.approx(cost / 1e6)
    assert Prices(1, 2, 3, 4).cost(usage) == pytest.approx(
        (usage.input + 2 * usage.output + 3 * usage.cache_read + 4 * usage.cache_write) / 1e6
    )


def test_a_schema_comes_back_from_a_record_and_from_one_of_the_first_versions() -> None:
    whole = ToolSchema("read", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}}, "start: x")
    assert ToolSchema.recorded(whole.raw) == whole
    assert "grammar" not in ToolSchema("read", "Read.", {}).raw
    assert ToolSchema.recorded({"name": "read"}) == ToolSchema("read", "", {"type": "object", "properties": {}})


def test_a_message_without_thinking_keeps_all_else() -> None:
    message = RequestMessage("assistant", (Thinking("hm"), Text("a")), "anthropic", "m")
    assert message.without_thinking == RequestMessage("assistant", (Text("a"),), "anthropic", "m")


def test_prices_of_today_apply_where_they_change() -> None:
    past, future = PriceChange("2000-01-01", Prices(2)), PriceChange("2999-01-01", Prices(3))
    assert ModelSpec("m", "x", prices=Prices(1), price_changes=(past, future)).cost(Usage(1_000_000)) == 2

"""Facts about models."""

from __future__ import annotations

import pytest

from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec, PriceChange, Prices


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

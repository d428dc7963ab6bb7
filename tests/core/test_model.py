"""Facts about models."""

from __future__ import annotations

import pytest

from agentcli.core.message import Text, Thinking, Usage
from agentcli.core.model import (
    FAMILIES,
    MOST_BREAKPOINTS,
    OTHER,
    REPLY_TOKENS,
    SMALL_WINDOW,
    ModelSpec,
    PriceChange,
    Prices,
    RequestMessage,
    ToolSchema,
    family_of,
    offers,
)
from tests.tables import each_row


@each_row(
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


@each_row(
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


@each_row(
    ("kind", "model", "family"),
    [
        ("anthropic", "claude-x", "Claude"), ("openai", "anthropic/x", "Claude"), ("google", "anything", "Gemini"),
        ("openai", "GPT-5", "GPT"), ("openai", "o3-mini", "GPT"), ("openai", "qwen3", "other"), ("", "", "other"),
    ],
)  # fmt: skip
def test_a_family_is_known_by_the_model_or_by_the_kind_of_its_provider(kind: str, model: str, family: str) -> None:
    assert family_of(kind, model).name == ModelSpec("p", model, kind).family.name == family


@each_row(
    ("model", "freely"),
    [("gpt-5.1", True), ("openai/GPT-10", True), ("codex-mini", True), ("gpt-4.1", False), ("gpt-oss-5", False), ("claude-x", False), ("qwen", False)],
)  # fmt: skip
def test_the_newer_gpt_models_write_a_text_without_json(model: str, freely: bool) -> None:
    assert ModelSpec("p", model).writes_freely is freely


@each_row(
    ("family", "tool", "available", "offered"),
    [
        ("GPT", "apply_patch", {"apply_patch", "multi_edit"}, True),
        ("GPT", "multi_edit", {"apply_patch", "multi_edit"}, False),
        ("GPT", "multi_edit", {"multi_edit"}, True),
        ("GPT", "edit", {"apply_patch", "edit"}, True),
        ("GPT freely", "edit", {"apply_patch", "edit"}, False),
        ("GPT freely", "multi_edit", {"apply_patch", "multi_edit"}, False),
        ("GPT freely", "edit", {"edit", "read"}, True),
        ("Claude freely", "edit", {"apply_patch", "edit"}, True),
        ("GPT", "read", {"apply_patch", "read"}, True),
        ("Claude", "apply_patch", {"apply_patch", "multi_edit"}, False),
        ("Claude", "multi_edit", {"apply_patch", "multi_edit"}, True),
        ("Gemini", "multi_edit", {"edit", "multi_edit"}, False),
        ("Gemini", "edit", {"edit", "multi_edit"}, True),
        ("other", "apply_patch", {"apply_patch"}, False),
        ("other", "read", {"read"}, True),
    ],
)
def test_a_tool_of_one_family_takes_the_place_of_another_there_and_only_there(
    family: str, tool: str, available: set[str], offered: bool
) -> None:
    [chosen] = [each for each in (*FAMILIES, OTHER) if each.name == family.split()[0]]
    assert offers(chosen, tool, frozenset(available), freely=family.endswith(" freely")) is offered


def test_the_limits_of_requests_are_those_that_are_documented() -> None:
    assert (REPLY_TOKENS, SMALL_WINDOW, MOST_BREAKPOINTS) == (32_000, 10_000, 4)

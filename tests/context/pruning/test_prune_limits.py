"""Prunes at their limits: what is worth an edit, when it pays, which reads make others out of date."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agentcli.context.pruning.plan import (
    EditCost,
    Pressure,
    by_price,
    cleared_in_words,
    edit_cost,
    moment,
    pays_from,
    requests_to_pay,
    worthwhile,
)
from agentcli.context.pruning.superseded import Supersession
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Prune
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row

MODEL = ModelSpec("demo", "demo", window=200_000, max_output=32_000, prices=Prices(5, 25, 0.5, 6.25))


def window(story: Story, **prune: Any) -> Window:
    settings = ContextSettings(prune=PruneSettings(**prune))
    seen = view(fold(story.records))
    return Window(seen, limits_of(MODEL, settings), TokenCounter(Chars4()), settings, TRAITS)


@each_row(
    ("outputs", "inputs", "words"),
    [
        (0, 0, "0 old outputs"),
        (1, 0, "1 old outputs"),
        (3, 2, "3 old outputs and 2 inputs of old edits"),
        (0, 2, "2 inputs of old edits"),
    ],
)
def test_a_prune_is_told_in_words(outputs: int, inputs: int, words: str) -> None:
    assert cleared_in_words(Prune(("x",) * outputs, 1, "", 0, ("y",) * inputs)) == words


@each_row(
    ("usable", "tokens"),
    [(0, 2_000), (32_000, 2_000), (32_016, 2_001), (160_000, 10_000), (320_000, 20_000), (400_000, 20_000)],
)
def test_an_edit_must_free_a_share_of_the_window_between_its_limits(usable: int, tokens: int) -> None:
    assert worthwhile(PruneSettings(), usable) == tokens


def test_the_size_from_which_a_prune_pays_has_the_protected_tokens_in_it() -> None:
    assert pays_from(window(Story())) == 10_000 + 10_500


@each_row(
    ("edit", "cost", "requests"),
    [
        (EditCost(100, 0), 0, 0),
        (EditCost(100, 100), 115, 11.5),
        (EditCost(0, 100), 115, math.inf),
        (EditCost(0, 0), 0, 0),
        (EditCost(100, 100, 10), 165, 15),
        (EditCost(0, 0, 10), 50, 50),
    ],
)
def test_an_edit_pays_by_what_each_later_request_saves(edit: EditCost, cost: float, requests: float) -> None:
    assert edit_cost(edit, 1.25, 0.1) == pytest.approx(cost)
    assert requests_to_pay(edit, 1.25, 0.1) == pytest.approx(requests)
    assert requests_to_pay(replace(edit, removed=0, thoughts=0, behind=1), 1.25, 0.0) == math.inf


@each_row(
    ("stamp", "time"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("", None),
        ("noon", None),
    ],
)
def test_a_time_without_a_zone_is_utc(stamp: str, time: datetime | None) -> None:
    assert moment(stamp) == time


def outputs(*tokens: int, turns: int = 1) -> Story:
    """Outputs of so many tokens, each of another file, and answers."""
    story = Story()
    story.user("Go.")
    for number, size in enumerate(tokens):
        story.reads(f"f{number}", "x" * 4 * size)
    story.says("Done.")
    for _ in range(turns):
        story.user("And?")
        story.says("So.")
    return story


RULES = {"auto_protect": 1_000, "minimum": 5_000, "least": 500, "minimum_share": 1.0}


def told(story: Story, pressure: Pressure, **prune: Any) -> tuple[tuple[str, ...], str]:
    made, why = by_price(window(story, **{**RULES, **prune}), pressure)
    return made.call_ids if made else (), why


def test_a_warm_cache_is_left_alone_until_enough_could_go() -> None:
    least = "Waiting: at most 5,000 tokens could go, on a warm cache at least 5,000 should."
    assert told(outputs(2_500, 2_500), Pressure()) == ((), least)
    assert told(outputs(2_500, 2_501), Pressure())[1] != least


@each_row(
    ("sizes", "cleared"),
    [
        ((300, 400, 600), ("call_1", "call_2")),
        ((300, 400, 601), ("call_1", "call_2")),
        ((300, 400, 599), ("call_1", "call_2")),
        ((300, 401, 600), ("call_1", "call_2")),
        ((600, 400, 600), ("call_1",)),
    ],
)
def test_the_newest_outputs_that_fit_into_the_protected_tokens_stay(
    sizes: tuple[int, ...], cleared: tuple[str, ...]
) -> None:
    wanted = told(
        outputs(*sizes),
        Pressure(forced=True),
        auto_protect=sizes[2] + (400 if cleared == ("call_1",) else 0),
        smallest=10,
    )
    assert wanted == (cleared, "asked for")


def test_outputs_below_the_smallest_size_stay() -> None:
    assert told(outputs(99, 5_000), Pressure(forced=True), smallest=100, auto_protect=0)[0] == ("call_2",)
    assert told(outputs(130, 5_000), Pressure(forced=True), smallest=100, auto_protect=0)[0] == ("call_1", "call_2")


def test_what_is_free_must_still_be_worth_a_little() -> None:
    small = outputs(510, 900)
    free = Pressure(free="it is free")
    assert told(small, free, least=600) == ((), "Not worth it: less than 600 tokens.")
    assert told(outputs(6_000, 900), free) == (("call_1",), "it is free")


def test_what_the_window_demands_goes_in_long_strides() -> None:
    story = outputs(*[10_000] * 12)
    cleared, why = told(story, Pressure(need=1), auto_turns=99)
    limits = limits_of(MODEL, ContextSettings())
    stride = limits.hard - limits.soft
    assert why == "the window demands 1 tokens"
    assert len(cleared) == math.ceil((stride + 1) / 9_985)
    assert told(outputs(10), Pressure(need=1)) == ((), "There is no output left to clear.")
    assert told(outputs(10), Pressure(forced=True)) == ((), "Nothing to prune: no output is out of date or old enough.")


def outdated(*calls: tuple[str, dict[str, Any]]) -> dict[str, str]:
    story = Story()
    story.user("Go.")
    for name, given in calls:
        story.does(name, "out", **given)
    found = Supersession().of(view(fold(story.records)), TRAITS)
    return {call: f"{each.why} @{each.since}" for call, each in {**found.outputs, **found.edits}.items()}


def read(**given: Any) -> tuple[str, dict[str, Any]]:
    return "read", {"file_path": "a.py", **given}


@each_row(
    ("first", "then", "gone"),
    [
        ({}, {}, True),
        ({"offset": 5, "limit": 5}, {}, True),
        ({"offset": 5, "limit": 5}, {"offset": 5, "limit": 5}, True),
        ({"offset": 5, "limit": 5}, {"offset": 4, "limit": 6}, True),
        ({"offset": 5, "limit": 5}, {"offset": 5, "limit": 4}, False),
        ({"offset": 5, "limit": 5}, {"offset": 6, "limit": 4}, False),
        ({"offset": 5, "limit": 5}, {"limit": 10}, True),
        ({"offset": 5, "limit": 5}, {"limit": 9}, False),
        ({"offset": 5}, {"limit": 999}, False),
        ({"offset": 5}, {"offset": 5}, True),
        ({"offset": 4}, {"offset": 5}, False),
        ({}, {"offset": "x", "limit": None}, True),
    ],
)
def test_a_read_that_covers_another_makes_it_out_of_date(
    first: dict[str, Any], then: dict[str, Any], gone: bool
) -> None:
    assert outdated(read(**first), read(**then)) == ({"call_1": "a.py was read again later @5"} if gone else {})


def test_a_read_that_is_not_covered_waits_for_one_that_covers_it() -> None:
    parts = read(offset=1, limit=5), read(offset=9, limit=5), read()
    assert outdated(*parts) == dict.fromkeys(("call_1", "call_2"), "a.py was read again later @7")
    edit = ("edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"})
    assert outdated(parts[0], parts[1], edit) == dict.fromkeys(("call_1", "call_2"), "a.py was changed later @7")
    assert outdated(edit, parts[0]) == {"call_1": "a.py was read again later @5"}
    assert outdated(edit, edit) == {"call_1": "a.py was changed again later @5"}
    other = ("read", {"file_path": "b.py"})
    assert outdated(edit, other) == outdated(read(), other) == {}

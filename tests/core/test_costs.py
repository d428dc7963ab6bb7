from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.costs import CostSum, bars, cost_chart, dollars, money
from agentcli.core.message import Usage
from tests.tables import each_row


def test_a_sum_has_no_cost_until_a_price_is_known():
    once = CostSum().plus(Usage(input=1), None)
    assert once == CostSum(1, Usage(input=1), None)
    assert once.plus(Usage(output=2), 0.5) == CostSum(2, Usage(input=1, output=2), 0.5)
    assert once.plus(Usage(), 0.5).plus(Usage(), None).cost == 0.5
    assert (money(None), money(1234.5)) == ("price unknown", "$1,234.5000")


def test_a_chart_stands_in_columns():
    sums = {"one": CostSum(1, Usage(input=2000), 0.1), "another": CostSum(1, Usage(output=1000))}
    assert cost_chart(sums) == [
        "  one      ████████████████         2,000  $0.1000",
        "  another  ████████                 1,000  price unknown",
    ]
    assert cost_chart({}) == []


def test_the_largest_is_as_long_as_there_is_room_and_the_others_in_proportion() -> None:
    assert bars([8, 4, 1, 0], 4) == ["████", "██  ", "▌   ", "    "]


def test_whatever_is_more_than_nothing_can_be_seen() -> None:
    assert bars([1_000_000, 1], 10)[1].strip()


@given(st.lists(st.floats(0, 1e12)), st.integers(1, 60))
def test_every_bar_has_the_same_width(values: list[float], width: int) -> None:
    assert all(len(bar) == width for bar in bars(values, width))


def test_a_bar_has_eighths_of_a_character_and_none_for_nothing() -> None:
    assert bars([16, 8, 1, 0], 2) == ["██", "█ ", "▏ ", "  "]
    assert bars([0, 0], 2) == ["  ", "  "]
    assert bars([], 2) == []
    assert bars([1], 3) == ["███"]


@each_row(
    ("cost", "text"),
    [(0, "$0.00"), (0.0049, "$0.0049"), (0.005, "$0.01"), (0.00501, "$0.01"), (0.0, "$0.00"), (1.5, "$1.50"), (-1, "$-1.0000")],
)  # fmt: skip
def test_an_amount_is_told_in_cents_unless_it_is_less_than_half_of_one(cost: float, text: str) -> None:
    assert dollars(cost) == text


@each_row(("cost", "text"), [(None, "price unknown"), (0.0, "$0"), (0.00004, "$0.0000"), (2, "$2.0000")])
def test_nothing_spent_is_not_an_unknown_price(cost: float | None, text: str) -> None:
    assert money(cost) == text


def test_a_long_name_pushes_its_own_line_only() -> None:
    long = "n" * 29
    assert cost_chart({long: CostSum(1, Usage(4)), "b": CostSum(1, Usage(4))}) == [
        f"  {long}  {'█' * 16}             4  price unknown",
        f"  {'b':28}  {'█' * 16}             4  price unknown",
    ]

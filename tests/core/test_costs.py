from __future__ import annotations

from agentcli.core.costs import CostSum, cost_chart, money
from agentcli.core.message import Usage


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

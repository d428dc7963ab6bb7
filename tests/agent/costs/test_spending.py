"""Requests of a session with their costs. Tokens are new, from the cache, or sent again in full, with the cause."""

from __future__ import annotations

import pytest

from agentcli.agent.costs.spending import shares, spendings
from agentcli.core.message import Usage
from tests.agent.costs.test_turns import Story


def test_a_cost_of_a_model_without_known_prices_is_divided_by_the_usual_relations() -> None:
    story = Story()
    story.user()
    story.reply(Usage(1_000, 200))
    [one] = spendings(story.records, lambda _: None)
    assert one.cost is not None
    found = shares(one, None)
    assert (found.new, found.output) == pytest.approx((one.cost / 2, one.cost / 2))

from typing import get_args

from agentcli.context.settings import PolicyName
from tests.bench.bench_policies import figures


def test_the_bench_plans_with_every_policy() -> None:
    found = figures(100_000)
    plans = {name: seconds for name, seconds in found.items() if name.startswith("plan ")}
    assert len(plans) == 2 * len(get_args(PolicyName))
    assert all(seconds > 0 for seconds in (found["yardstick"], *plans.values()))

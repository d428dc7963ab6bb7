from typing import get_args

from agentcli.context.settings import PolicyName
from tests.bench.bench_policies import figures


def test_planning_costs_no_more_than_a_few_times_writing_the_session_down() -> None:
    found = figures(100_000)
    plans = {name: seconds for name, seconds in found.items() if name.startswith("plan ")}
    assert len(plans) == 2 * len(get_args(PolicyName))
    # The million-token view plans in well under a tenth of a second where writing it down takes ten milliseconds.
    assert all(seconds < 40 * found["yardstick"] for seconds in plans.values()), found

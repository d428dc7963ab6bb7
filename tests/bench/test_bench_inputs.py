import pytest

from tests.bench.bench_inputs import figures, pruned
from tests.context.realsession import FILE, records

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the recorded session is not there")


def test_a_prune_of_the_recorded_session_leaves_a_window_that_is_a_sixth_smaller() -> None:
    assert pruned(records()).smaller >= 0.15


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_the_recorded_session_ends_in_a_window_that_is_a_sixth_smaller() -> None:
    _, whole, _ = figures(records())
    assert whole.smaller >= 0.15
    assert whole.cost[1] < whole.cost[0]

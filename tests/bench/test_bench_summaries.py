import pytest

from tests.bench.bench_summaries import hand_off_real, survivors, ten_compactions


def test_no_invention_stays_and_every_truth_does() -> None:
    found = survivors()
    assert found["invented, as items"][0] == found["invented, as a whole snapshot"][0] == 0
    assert found["true statements"][0] >= 57


@pytest.mark.full
def test_items_are_not_worn_down_and_cost_less_to_write() -> None:
    rewritten, items = ten_compactions(items=False), ten_compactions(items=True)
    assert items.unchanged == items.findings
    assert items.written <= 0.4 * rewritten.written


def test_the_real_session_is_handed_off_in_few_tokens_with_every_rule() -> None:
    made = hand_off_real()
    if made is not None:
        assert made.tokens < 9_000
        assert made.rules == made.of_rules

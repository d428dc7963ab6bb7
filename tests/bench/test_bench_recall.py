import json
from pathlib import Path

import pytest

from agentcli.context.settings import POLICIES, PolicyName
from tests.bench.bench_recall import Probe, big_session, paraphrased, searches
from tests.bench.planted import SUMMARISERS, led
from tests.tables import each_row


@pytest.mark.full
@pytest.mark.parametrize(("policy", "summariser"), [("auto", "honest"), ("opencode", "empty"), ("sliding", "lying")])
def test_nothing_that_was_said_is_lost_in_a_short_session(policy: PolicyName, summariser: str) -> None:
    found = led(policy, summariser, 30, 20, window=12_000, keep_recent=500)
    assert found.compactions >= 1
    assert found.facts == 20
    assert found.lost == 0


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("summariser", SUMMARISERS)
@each_row("policy", POLICIES)
def test_nothing_is_lost_in_three_hundred_turns(policy: PolicyName, summariser: str) -> None:
    found = led(policy, summariser)
    assert found.lost == 0
    if policy == "auto" and summariser == "honest":
        assert found.in_view >= 75


def test_a_search_reads_a_small_part_of_the_records(tmp_path: Path) -> None:
    session = big_session(tmp_path, 600)
    found = searches(session)
    assert all(read < 200 for _, read, _ in found.values())
    assert found["timeout_77_0"][2] == 1
    session.close()


def test_a_passage_counts_as_found_by_its_place_on_the_page(tmp_path: Path) -> None:
    said = ["The queue drains twice on commit, so a lock is taken.", *(f"Step {n} is done." for n in range(80))]
    lines = [
        {"type": "assistant", "sessionId": "s", "uuid": f"{n}", "parentUuid": f"{n - 1}" if n else None, "cwd": "/x"}
        | {
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        }
        for n, text in enumerate(said)
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    probe = Probe("s.jsonl", said[0], "line empties double", "buffer flush mutex | queue drain lock | waiting")
    assert paraphrased([probe], tmp_path) == {"query": 0, "wordings": 1, "either": 1, "own words": 1}


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_hundred_thousand_records_are_searched_through_the_index(tmp_path: Path) -> None:
    session = big_session(tmp_path, 100_000)
    assert list(session.candidates([["nothing yet"]])) is not None
    assert all(read < 10_000 for _, read, _ in searches(session).values())
    session.close()

"""The bench of handoffs holds on a made-up session: a small first request, all rules, all facts."""

from __future__ import annotations

from agentcli.program.program import Program
from tests.agent.compaction.test_handoff import program as program
from tests.bench.bench_handoff import outcome
from tests.extras.lab.traces import Shape, trace


def test_a_handoff_is_small_and_loses_nothing(program: Program) -> None:
    made = trace(1, Shape(turns=(3, 3), steps=(5, 5), files=(3, 3), lines=(20, 40)))
    found = outcome(made.records, program, 8)
    assert found.tokens < 12_000
    assert (found.rules_kept, found.missing) == (found.rules, ())
    assert found.rules > 0
    assert found.facts == found.recalled == 8

"""No byte of a file that a deny rule is about is in any result. The quick sample runs always; `-m slow` runs 2,000 cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.permissions.sandbox import detect
from tests.attack.denied_reads import (
    CANARY,
    LAYOUTS,
    MODES,
    attack,
    call_of,
    cases,
    forms,
    holds_denied,
    random_calls,
    run,
)

SEED = 20_260
NO_SANDBOX = not detect().masks


def test_the_measure_sees_a_leak_where_no_rule_stands(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    calls = [
        call_of(form, "secrets/key.txt", tmp_path / "work") for form in ("cat {f}", "rev {f}", "cd {d} && base64 {b}")
    ]
    assert len(attack(tmp_path, LAYOUTS[0], calls, "ask", 1, deny=False).leaks) == 3
    assert not holds_denied("ordinary line 1 of some text")
    assert holds_denied(f"x{CANARY}")


def test_cases_come_in_every_mode_and_layout() -> None:
    drawn = list(cases(2_000, SEED))
    assert {mode for _, mode, *_ in drawn} == set(MODES)
    assert {layout.rule for layout, *_ in drawn} == {layout.rule for layout in LAYOUTS}
    assert len(random_calls(LAYOUTS[0], 20, 1, Path("/work"))) == 20
    assert len(set(forms())) > 200


@pytest.mark.full
def test_a_sample_of_random_commands_shows_nothing_denied_and_useful_ones_work() -> None:
    found = run(40, SEED)
    assert found.cases == 40
    assert not found.leaks
    assert NO_SANDBOX or not found.useless


def test_a_sample_without_a_sandbox_shows_nothing_that_was_not_asked_about() -> None:
    found = run(20, SEED + 1, sandbox="off", answer=False)
    assert found.cases == 20
    assert not found.leaks


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_two_thousand_random_commands_show_nothing_denied() -> None:
    found = run(2_000, SEED + 2)
    assert found.cases == 2_000
    assert not found.leaks
    assert NO_SANDBOX or not found.useless


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_five_hundred_random_commands_without_a_sandbox_show_nothing_that_was_not_asked_about() -> None:
    assert not run(500, SEED + 3, sandbox="off", answer=False).leaks

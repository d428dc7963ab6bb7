from pathlib import Path

import pytest

from tests.attack.hostile_repository import MODES, TRAPS, attack


@pytest.mark.parametrize("trap", list(TRAPS)[:3])
def test_no_program_that_a_repository_names_starts(tmp_path: Path, trap: str) -> None:
    assert attack(tmp_path, trap, "ask") == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", MODES)
def test_no_trap_works_in_any_mode(tmp_path: Path, mode: str) -> None:
    started = {trap: attack(tmp_path / str(n), trap, mode) for n, trap in enumerate(TRAPS)}
    assert {trap: ran for trap, ran in started.items() if ran} == {}

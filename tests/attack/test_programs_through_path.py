from pathlib import Path

import pytest

from tests.attack.programs_through_path import MODES, PLACES, attack, attacks


@pytest.mark.parametrize("number", [0, 1, 3])
def test_no_program_of_the_folder_starts_although_path_leads_there(tmp_path: Path, number: int) -> None:
    assert attack(tmp_path, *list(attacks(number + 1))[number]) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_none_starts_in_any_mode_through_any_entry(tmp_path: Path) -> None:
    count = len(PLACES) * len(MODES)
    started = [attack(tmp_path / str(n), *way) for n, way in enumerate(attacks(count))]
    assert started == [[]] * count

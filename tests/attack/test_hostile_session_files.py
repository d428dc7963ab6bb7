"""No session file, however spoiled, ends an import with a traceback, writes outside the store, or leaves a session that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.hostile_session_files import WAYS, attacks, found, samples
from tests.e2e.program import Program


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_few_spoiled_files_do_no_harm(tmp_path: Path, seed: int) -> None:
    _harmless(tmp_path, 8, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_way_on_every_sample_does_no_harm(tmp_path: Path) -> None:
    _harmless(tmp_path, 3 * len(WAYS) * len(samples()), 0)


def _harmless(folder: Path, count: int, seed: int) -> None:
    harm = {}
    for number, attack in enumerate(attacks(count, seed)):
        base = folder / str(number)
        base.mkdir()
        harm[f"{attack.way} {attack.sample}"] = found(Program(base), attack)
    assert {attack: wrong for attack, wrong in harm.items() if wrong} == {}

"""Killed at any instant, the program loses nothing that was acknowledged, its sessions open, and it runs no tool twice."""

import random
from pathlib import Path

import pytest

from tests.attack.kills import CHANGES, Target, attack, attack_scripted, main


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return Target.build(tmp_path_factory.mktemp("target"))


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.slow] if way in ("fork", "export") else []) for way in CHANGES]
)
def test_a_kill_in_the_middle_does_no_damage(target: Target, way: str) -> None:
    target.restore()
    assert attack(target, way, random.Random(way)).wrong == ""


def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged, sessions = attack_scripted(tmp_path, 12, 0)
    assert acknowledged > 20
    assert sessions > 1


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_hundreds_of_kills_in_each_way_do_no_damage() -> None:
    assert main(100) == 0


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_killed_a_thousand_times_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged, _ = attack_scripted(tmp_path, 1_000, 1_000)
    assert acknowledged > 2_000

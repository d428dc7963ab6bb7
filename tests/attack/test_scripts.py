"""A script reaches nothing but its tools, and its calls nothing but what their rules allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.permissions.sandbox import detect
from tests.attack.scripts import ATTACKS, Attack, tried

QUICK = ("reading the denied file", "fork", "a read that a rule denies", "a line that is no JSON", "a memory bomb")
"""Attacks of the default run, one of each kind."""
sandboxed = pytest.mark.skipif(not detect().closes, reason="scripts need bubblewrap")


@sandboxed
@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.name in QUICK], ids=lambda each: each.name)
def test_one_attack_of_each_kind_does_nothing(attack: Attack, tmp_path: Path) -> None:
    assert tried(attack, tmp_path) == []


@sandboxed
@pytest.mark.full
@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.name not in QUICK], ids=lambda each: each.name)
def test_an_attack_does_nothing(attack: Attack, tmp_path: Path) -> None:
    assert tried(attack, tmp_path) == []


@sandboxed
def test_the_measure_sees_an_attack_that_works(tmp_path: Path) -> None:
    code = "bash('touch made.txt')\nprint(read('secret.txt'))\nmcp.shop.pay()"
    seen = tried(Attack("all is allowed", code, "", deny=()), tmp_path / "all")
    assert seen == ["printed the canary", "changed files", "called a denied tool"]


def test_there_are_sixty_attacks() -> None:
    assert len({each.name for each in ATTACKS}) == len(ATTACKS) >= 60

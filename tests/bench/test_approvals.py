"""Figures that the permissions must reach on a recorded session and on commands of the same kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.rules import Rules
from tests.bench.approvals import (
    DANGEROUS,
    SESSION,
    Recording,
    decided,
    in_auto,
    needless,
    own,
    recorded,
    unasked,
    with_widest_always,
    workspace_for,
)
from tests.permissions.corpus import commands_of

RECORDINGS = [
    pytest.param(own, id="own"),
    pytest.param(recorded, id="recorded", marks=pytest.mark.skipif(not SESSION.exists(), reason="no recorded session")),
]


@pytest.mark.full
@pytest.mark.parametrize("recording", RECORDINGS)
def test_few_commands_are_asked_about_and_no_reading_one(tmp_path: Path, recording: Callable[[], Recording]) -> None:
    workspace = workspace_for(recording(), tmp_path)
    assert in_auto(recording(), workspace).share <= 0.05
    asked, _ = with_widest_always(recording(), replace(workspace, sandboxed=False))
    assert asked.share <= 0.24  # each recipe of a task runner is asked about once
    assert len(needless(asked)) <= 0.02 * asked.of


@pytest.mark.slow
def test_no_dangerous_command_runs_unasked_whatever_a_person_allowed_on_the_way(tmp_path: Path) -> None:
    assert len(commands_of(DANGEROUS)) >= 300
    workspace = workspace_for(own(), tmp_path)
    _, rules = with_widest_always(own(), replace(workspace, sandboxed=False))
    assert len(rules.allow) > 10
    assert unasked(rules, "ask", workspace) == []
    assert unasked(Rules(), "auto", workspace) == []


@pytest.mark.parametrize("command", ["git checkout HEAD -- src/cart.py", "git restore src/cart.py"])
def test_files_are_replaced_unasked_only_if_undo_restores_them(tmp_path: Path, command: str) -> None:
    workspace = workspace_for(own(), tmp_path)
    assert decided(command, Rules(), "auto", workspace).decision == "allow"
    assert decided(command, Rules(), "auto", replace(workspace, undo=None)).decision == "ask"

"""Killed at any instant, a session loses nothing that was acknowledged, opens, and runs no tool twice."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from agentcli.core.message import ToolResult
from agentcli.sessions.integrity import check
from agentcli.sessions.store import Store

REPOSITORY = Path(__file__).parents[2]


def killed(root: Path, seed: int, effects: Path) -> list[tuple[str, str, str]]:
    """The records that a scripted session acknowledged before it was killed at a random moment."""
    dice = random.Random(seed)
    command = [sys.executable, "-m", "tests.sessions.scripted_child", str(root), str(seed), str(effects)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(dice.choice([0, 1, 2, 5, 10]))]
        time.sleep(dice.random() * (0.1 if not lines else 0.01))
        child.kill()
        lines += child.stdout.readlines()
        child.wait()
    assert child.returncode == -9
    return [tuple(line.decode().split()) for line in lines if line.endswith(b"\n")]


def survives(tmp_path: Path, kills: int, first_seed: int) -> tuple[int, int]:
    """Kill so many times; how many records were acknowledged and how many sessions there are."""
    store, effects = Store(tmp_path / "sessions"), tmp_path / "effects"
    effects.touch()
    acknowledged: dict[tuple[str, str], str] = {}
    for seed in range(first_seed, first_seed + kills):
        for session, name, digest in killed(store.root, seed, effects):
            acknowledged[session, name] = digest
    infos = {info.id: info for info in store.list()}
    for (session, name), digest in acknowledged.items():
        path = store.folder(infos[session]) / "records" / name
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    for info in infos.values():
        session = store.open(info.project_id, info.id)
        answers = Counter(record.body.call_id for record in session.records() if isinstance(record.body, ToolResult))
        assert not answers or max(answers.values()) == 1
        session.close()
        assert check(session.folder).ok, check(session.folder)
    runs = Counter(effects.read_text().split())
    assert not runs or max(runs.values()) == 1
    return len(acknowledged), len(infos)


def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged, sessions = survives(tmp_path, 25, 0)
    assert acknowledged > 40
    assert sessions > 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_a_thousand_times_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged, sessions = survives(tmp_path, 1_000, 1_000)
    print(f"1,000 kills: {acknowledged} acknowledged records in {sessions} sessions, none lost")
    assert acknowledged > 2_000

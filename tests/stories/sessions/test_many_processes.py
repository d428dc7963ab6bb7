"""Eight agents on one project, one configuration, one list of trusted folders and one history, some killed: nothing is lost."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import IO

import pytest

from agentcli.frontends.terminal.input.history import load_history
from agentcli.sessions.integrity import check
from agentcli.sessions.store import Store
from tests.sessions.busy_child import KEPT

REPOSITORY = Path(__file__).parents[3]
PROCESSES = 8


def start(folder: Path, name: str) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    heard = (folder / f"heard-{name}").open("w+b")
    command = [sys.executable, "-m", "tests.sessions.busy_child", str(folder), name]
    return subprocess.Popen(command, stdout=heard, cwd=REPOSITORY), heard


def at_work(folder: Path, seconds: float) -> list[list[str]]:
    """All that the agents acknowledged while one after the other was killed and replaced, for so long and until several had reported."""
    dice, names = random.Random(7), (f"agent{n}" for n in itertools.count())
    running = [start(folder, next(names)) for _ in range(PROCESSES)]
    ended = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or sum(path.stat().st_size > 0 for path in folder.glob("heard-*")) < PROCESSES:
        time.sleep(dice.random() * 0.5)
        victim = running.pop(dice.randrange(PROCESSES))
        victim[0].kill()
        ended.append(victim)
        running.append(start(folder, next(names)))
    for child, _ in running:
        child.kill()
    reported = []
    for child, heard in [*ended, *running]:
        assert child.wait() == -9, "an agent failed by itself"
        heard.seek(0)
        reported += [line.decode().split() for line in heard if line.endswith(b"\n")]
        heard.close()
    return reported


def nothing_is_lost(folder: Path, seconds: float) -> int:
    reported = at_work(folder, seconds)
    store = Store(folder / "sessions")
    infos = {info.id: info for info in store.list()}
    config = tomllib.loads((folder / "config.toml").read_text())["agents"]
    trusted = {Path(name).name for name in json.loads((folder / "trusted.json").read_text())["folders"]}
    history = {typed.text for typed in load_history(folder / "history.jsonl", limit=KEPT)}
    for kind, *words in reported:
        match kind, words:
            case "record", [session, name, digest]:
                path = store.folder(infos[session]) / "records" / name
                assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
            case "config", [name, n]:
                assert config[name] >= int(n)
            case "trust", [place]:
                assert place in trusted
            case "history", words:
                assert " ".join(words) in history
    for info in infos.values():
        assert check(store.folder(info)).ok
    return len(reported)


@pytest.mark.full
def test_eight_agents_at_work_lose_nothing(tmp_path: Path) -> None:
    assert nothing_is_lost(tmp_path, 3.0) > 8


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_eight_agents_at_work_for_a_minute_lose_nothing(tmp_path: Path) -> None:
    print(f"{nothing_is_lost(tmp_path, 60.0)} acknowledgements, none lost")

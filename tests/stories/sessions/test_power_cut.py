"""The power may go between any two system calls: every state that the disk may then hold opens, with all that was acknowledged."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from agentcli.core.message import Text
from agentcli.core.record import Title, Undo
from agentcli.sessions.store import Store
from tests.sessions.bodies import compaction, reply, result, user
from tests.sessions.disks import Hasty, Recording, after_power_cut

LUCK = (0.0, 0.5, 1.0)


def recorded(root: Path) -> tuple[Recording, list[tuple[int, int, bytes]]]:
    """A session's system calls, and after which of them each record (its seq and bytes) was acknowledged."""
    disk = Recording()
    session = Store(root, disk=disk, interval=0.0).create(root.parent, model="demo/scripted")
    acknowledged = []

    def say(body) -> int:
        record = session.append(body)
        path = session.folder / "records" / f"{record.seq:06d}-{record.kind}.json"
        acknowledged.append((len(disk.acts), record.seq, path.read_bytes()))
        return record.seq

    say(user("one"))
    session.stream(lambda: [Text("look")])
    session.stream(lambda: [Text("looking")])
    say(reply("looking", "a"))
    session.keep_output("a", "all of it")
    say(result("a", "cut"))
    say(reply("done"))
    say(Title(name="mine"))
    squeezed = say(compaction(2, 5, carry=session.history.carry))
    say(user("two", 2))
    say(Undo(squeezed))
    session.close()
    return disk, acknowledged


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("recorded") / "data" / "sessions"
    root.parent.mkdir()
    disk, acknowledged = recorded(root)
    return root.parent, disk, acknowledged


def check_state(recording, tmp_path: Path, calls: int, luck: float, seed: int) -> None:
    base, disk, acknowledged = recording
    state = tmp_path / "after"
    after_power_cut(disk, calls, base, state, random.Random(seed), luck)
    store = Store(state / "sessions", disk=Hasty())
    promised = [(seq, data) for done, seq, data in acknowledged if done <= calls]
    found = store.list()
    assert len(found) == 1 or not promised
    for info in found:
        session = store.open(info.project_id, info.id)
        for seq, data in promised:
            path = next((session.folder / "records").glob(f"{seq:06d}-*"))
            assert path.read_bytes() == data
        last = session.append(user("it goes on", 9))
        assert last.seq > max((seq for seq, _ in promised), default=0)
        session.close()
        assert store.open(info.project_id, info.id, read_only=True).notes == ()
    shutil.rmtree(state)


@pytest.mark.parametrize("luck", LUCK)
def test_after_a_power_cut_all_that_was_acknowledged_is_there(recording, tmp_path: Path, luck: float) -> None:
    for calls in range(0, len(recording[1].acts) + 1, 5):
        check_state(recording, tmp_path, calls, luck, calls)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_after_a_power_cut_at_any_call_all_that_was_acknowledged_is_there(recording, tmp_path: Path) -> None:
    for calls in range(len(recording[1].acts) + 1):
        for luck in LUCK:
            for seed in range(1 if luck == 0.0 else 12):
                check_state(recording, tmp_path, calls, luck, seed)


def forked(base: Path) -> tuple[Recording, int, int, str]:
    """The system calls of a session and its fork, after which of them the fork began and stood, and its id."""
    disk = Recording()
    store = Store(base / "sessions", disk=disk, interval=0.0)
    session = store.create(base)
    for body in (user("one"), reply("looking", "a")):
        session.append(body)
    session.keep_output("a", "all of it")
    session.append(result("a", "cut"))
    session.close()
    began = len(disk.acts)
    fork = store.fork(session.info)
    return disk, began, len(disk.acts), fork.id


@pytest.mark.parametrize("luck", LUCK)
def test_a_fork_is_there_whole_or_not_at_all_after_a_power_cut(tmp_path: Path, luck: float) -> None:
    base = tmp_path / "data"
    base.mkdir()
    disk, began, stood, fork = forked(base)
    whole = 0
    for calls in range(began, stood + 1):
        state = tmp_path / "after"
        after_power_cut(disk, calls, base, state, random.Random(calls), luck)
        store = Store(state / "sessions", disk=Hasty())
        found = {info.id: info for info in store.list()}
        assert len(found) >= 1
        for info in found.values():
            session = store.open(info.project_id, info.id)
            assert [entry.seq for entry in session.history.entries] == [1, 2, 3]
            assert session.output("outputs/a.txt") == "all of it"
            assert session.notes == ()
            session.close()
        whole += fork in found
        assert fork in found or calls < stood
        shutil.rmtree(state)
    assert whole


def test_a_store_that_forgets_to_sync_would_be_caught(recording, tmp_path: Path) -> None:
    base, disk, acknowledged = recording
    unsynced = Recording(acts=[act for act in disk.acts if isinstance(act, tuple) or hasattr(act, "what")])
    with pytest.raises((AssertionError, StopIteration)):
        check_state((base, unsynced, [(0, seq, data) for _, seq, data in acknowledged]), tmp_path, 99, 0.5, 1)

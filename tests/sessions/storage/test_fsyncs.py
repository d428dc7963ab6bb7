"""An acknowledged record costs two fsyncs, one of its file and one of the folder; records that are saved together share the folder's."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.record import Settings
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, result, user
from tests.sessions.disks import File, Recording


def opened(tmp_path: Path) -> tuple[Recording, Session]:
    disk = Recording()
    return disk, Store(tmp_path / "sessions", disk=disk).create(tmp_path, model="demo/scripted")


def fsyncs(disk: Recording) -> tuple[int, int]:
    """The number of fsyncs so far, of files and of folders."""
    files = sum(isinstance(act, File) for act in disk.acts)
    return files, sum(isinstance(act, Path) for act in disk.acts)


def test_forty_steps_cost_two_fsyncs_a_record(tmp_path: Path) -> None:
    disk, session = opened(tmp_path)
    session.append(user("go"))
    files, folders = fsyncs(disk)
    for step in range(40):
        session.append(reply(f"step {step}", f"c{step}"))
        session.append(result(f"c{step}", "a line\n" * 50))
    session.settle()
    assert fsyncs(disk) == (files + 80, folders + 80)
    session.close()


def test_records_that_wait_for_the_first_one_said_share_the_fsync_of_the_folder(tmp_path: Path) -> None:
    disk, session = opened(tmp_path)
    session.append(Settings(mode="plan"))
    session.append(user("go"))
    synced = [act for act in disk.acts if act == session.folder / "records"]
    assert len(synced) == 1
    assert len(list((session.folder / "records").glob("*.json"))) == 3
    session.close()

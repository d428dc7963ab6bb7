"""The writing end of a session: order, repeated writes, the message about a disk that refuses, and its lock."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from agentcli.core.codec.encode import encode
from agentcli.core.record import Pin, Record
from agentcli.sessions.storage.writer import Lock, Writer, holder, is_locked
from tests.sessions.disks import Act, Failing, Hasty, Recording
from tests.tables import each_row


def record(seq: int) -> Record:
    return Record(seq, f"id{seq}", "t", "", Pin(seq))


def filled(folder: Path, disk: Hasty, *seqs: int, lock: Lock | None = None) -> Writer:
    """A writer with records that wait."""
    writer = Writer(folder, disk, b"origin", lock)
    for seq in seqs:
        writer.add(record(seq), encode(record(seq)))
    return writer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "records").iterdir())


def test_a_session_gets_its_folder_with_the_first_save(tmp_path: Path) -> None:
    made: list[bool] = []
    folder = tmp_path / "deep/session"
    writer = Writer(folder, Hasty(), b"origin", None, lambda: made.append((folder / "origin.json").exists()))
    writer.add(record(1), encode(record(1)))
    assert (writer.exists, folder.exists(), made) == (False, False, [])
    assert writer.waiting == (record(1),)
    assert writer.save()
    assert (writer.exists, made, writer.waiting) == (True, [True], ())
    assert (folder / "origin.json").read_bytes() == b"origin"
    assert names(folder) == ["000001-pin.json"]
    assert (folder / "records/000001-pin.json").read_bytes() == encode(record(1))
    assert is_locked(folder / "lock")
    writer.add(record(2), encode(record(2)))
    assert writer.save()
    assert writer.save()
    assert (made, names(folder), writer.trouble()) == ([True], ["000001-pin.json", "000002-pin.json"], "")
    writer.release()
    assert not is_locked(folder / "lock")
    writer.release()


def test_outputs_are_written_before_the_records_and_the_folder_is_synced_once(tmp_path: Path) -> None:
    disk = Recording()
    writer = filled(tmp_path / "session", disk, 1, 2)
    writer.outputs.add("c", "all of it")
    assert writer.save()
    written = [act.to.name for act in disk.acts if isinstance(act, Act) and act.what == "rename" and act.to]
    assert written == ["origin.json", "c.txt", "000001-pin.json", "000002-pin.json"]
    synced = [str(act.relative_to(tmp_path)) for act in disk.acts if isinstance(act, Path)]
    assert synced == [".", "session", "session", "session/outputs", "session/records"]
    writer.release()


def test_what_a_disk_refuses_once_is_written_again_and_told_once(tmp_path: Path) -> None:
    writer = filled(tmp_path / "session", Failing("rename", errno.EIO, 2), 1, 2)
    assert writer.save()
    assert names(tmp_path / "session") == ["000001-pin.json", "000002-pin.json"]
    told = "Writing to the session failed (Input/output error) and was made again: everything is saved."
    assert (writer.trouble(), writer.trouble()) == (told, "")
    writer.release()


def test_what_a_disk_refuses_stays_in_memory_and_is_told_until_it_is_written(tmp_path: Path) -> None:
    disk = Failing("create", errno.ENOSPC, 1, forever=True)
    writer = filled(tmp_path / "session", disk, 1)
    path = writer.keep_output("c", "all of it", ".txt")
    assert path == str(tmp_path / "session/outputs/c.txt")
    told = (
        "The session is not being saved: No space left on device. "
        "It continues in memory and is written as soon as the disk accepts it."
    )
    assert not writer.save()
    assert (writer.trouble(), writer.trouble(), writer.waiting) == (told, told, (record(1),))
    assert writer.outputs.text(path) == "all of it"
    disk.heal()
    assert writer.save()
    assert (writer.trouble(), writer.waiting) == ("", ())
    assert Path(path).read_text() == "all of it"
    assert (names(tmp_path / "session"), (tmp_path / "session/origin.json").read_bytes()) == (
        ["000001-pin.json"],
        b"origin",
    )
    writer.release()


def test_an_output_is_saved_when_it_is_kept_and_read_by_its_name(tmp_path: Path) -> None:
    writer = filled(tmp_path / "session", Hasty())
    path = writer.keep_output("c", b"\xffPNG", ".png")
    assert Path(path).read_bytes() == b"\xffPNG"
    assert writer.outputs.text("/moved/outputs/c.png") == "\u00ffPNG"
    assert writer.outputs.text("/moved/outputs/gone.png") == ""
    writer.release()


def test_nothing_is_written_after_the_release(tmp_path: Path) -> None:
    writer = filled(tmp_path / "session", Hasty(), 1)
    assert writer.save()
    writer.release()
    path = writer.keep_output("c", "late", ".txt")
    writer.add(record(2), encode(record(2)))
    assert not writer.save()
    assert not Path(path).exists()
    assert (writer.waiting, names(tmp_path / "session")) == ((record(2),), ["000001-pin.json"])


@pytest.mark.parametrize(("seq", "saved"), [(5, False), (6, False), (7, True)])
def test_a_lock_that_was_not_free_at_first_is_taken_if_no_other_process_wrote(
    tmp_path: Path, seq: int, saved: bool
) -> None:
    folder = tmp_path / "session"
    first = filled(folder, Hasty(), 6)
    assert first.save()
    first.release()
    writer = filled(folder, Hasty(), seq)
    assert writer.exists
    assert writer.save() is saved
    assert is_locked(folder / "lock") is saved
    told = "" if saved else "Another process has written to this session. Continue in a copy with /fork."
    assert (writer.trouble(), writer.trouble()) == (told, told)
    assert bool(writer.waiting) is not saved
    writer.release()


def test_a_lock_that_is_given_is_the_one_that_is_released(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    writer = filled(folder, Hasty(), 1, lock=Lock(folder / "lock"))
    assert writer.save()
    writer.release()
    assert not is_locked(folder / "lock")


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_that_can_be_rebuilt_is_synced_on_request_and_stays_if_the_disk_refuses(
    tmp_path: Path, durable: bool
) -> None:
    disk = Recording()
    writer = Writer(tmp_path, disk, b"")
    writer.replace(tmp_path / "session.json", b"new", durable=durable)
    assert (tmp_path / "session.json").read_bytes() == b"new"
    assert (tmp_path in disk.acts) is durable
    Writer(tmp_path, Failing("write", errno.EIO, 1), b"").replace(tmp_path / "session.json", b"newer")
    assert (tmp_path / "session.json").read_bytes() == b"new"


def test_a_file_that_can_be_rebuilt_is_not_synced_unless_requested(tmp_path: Path) -> None:
    disk = Recording()
    Writer(tmp_path, disk, b"").replace(tmp_path / "session.json", b"new")
    assert tmp_path not in disk.acts


@each_row(("content", "told"), [(" 123\n", "123"), ("9" * 21, "9" * 20), ("", ""), (None, "")])
def test_the_holder_of_a_lock_is_told_as_far_as_it_is_known(tmp_path: Path, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / "lock").write_text(content)
    assert holder(tmp_path / "lock") == told


def test_the_first_record_is_written_into_a_folder_without_records(tmp_path: Path) -> None:
    (tmp_path / "session/records").mkdir(parents=True)
    writer = filled(tmp_path / "session", Hasty(), 1)
    assert writer.save()
    assert names(tmp_path / "session") == ["000001-pin.json"]
    writer.release()

"""Reading record files: whole whatever their size, and many of them from one open folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from agentcli.core.message import Text
from agentcli.core.record import Record
from agentcli.sessions.storage.records import RecordFolder, read_file
from agentcli.sessions.store import Store
from tests.sessions.bodies import compaction, reply, user

AT_ONCE = 1 << 16


@pytest.mark.parametrize("size", [0, 2, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE])
@pytest.mark.parametrize("end", [b"}\n", b"xx"])
def test_a_file_of_any_size_is_read_whole(tmp_path: Path, size: int, end: bytes) -> None:
    data = b"}\n" * (size // 2) + end
    (tmp_path / "file").write_bytes(data)
    assert read_file(tmp_path / "file") == data


def test_a_record_that_fills_several_reads_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    long = "line }\n" * AT_ONCE
    session.append(user(long))
    session.close()
    (entry,) = store.open(session.info.project_id, session.id, True).history.entries
    assert entry.body.parts == (Text(long),)


def test_a_session_that_is_moved_while_it_is_opened_is_read_to_the_end(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    session.append(user("first"))
    session.append(reply("second"))
    session.append(user("third"))
    session.close()

    def moved_after_the_first(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if record.seq == 3:
                session.folder.rename(tmp_path / "elsewhere")
            yield record

    opened = store.open(session.info.project_id, session.id, True, moved_after_the_first)
    assert [entry.seq for entry in opened.history.entries] == [1, 2, 3]
    assert not opened.notes


def test_a_folder_is_held_open_only_while_it_is_read(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    before = len(os.listdir("/dev/fd"))
    with folder.held_open() as held:
        assert len(os.listdir("/dev/fd")) == before + 1
        assert held.read(1) is None
    assert len(os.listdir("/dev/fd")) == before
    with RecordFolder(tmp_path / "missing").held_open() as missing:
        assert missing.read(1) is None


def test_records_before_the_view_are_read_to_the_end_when_the_session_is_moved(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for body in (user("first"), reply("second"), user("third"), compaction(1, 3)):
        session.append(body)
    session.close()
    records = store.open(session.info.project_id, session.id, True).records()
    first = next(records)
    session.folder.rename(tmp_path / "elsewhere")
    assert [first.seq, *(record.seq for record in records)] == [1, 2, 3, 4]


def test_a_record_that_the_system_does_not_give_out_is_reported_as_lost(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for text in ("first", "second", "third"):
        session.append(user(text))
    session.close()
    path = sorted((session.folder / "records").iterdir())[1]
    path.unlink()
    path.mkdir()
    opened = store.open(session.info.project_id, session.id, True)
    assert [entry.seq for entry in opened.history.entries] == [1, 3]
    assert any("can't read record 2" in note for note in opened.notes), opened.notes

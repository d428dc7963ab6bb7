"""Whatever happens to a file, everything opens, only that record is lost, and it is named and kept aside."""

from __future__ import annotations

import gc
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli.core.message import Text
from agentcli.core.record import Title
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.integrity import check, repair
from agentcli.sessions.store import Store
from tests.sessions.bodies import compaction, files, reply, result, user
from tests.sessions.disks import Hasty

Harm = Callable[[bytes], bytes]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions", disk=Hasty())


@pytest.fixture
def info(store: Store, tmp_path: Path) -> SessionInfo:
    session = store.create(tmp_path, model="demo/scripted")
    session.append(user("one"))
    session.append(reply("looking", "a"))
    session.append(result("a", "some output that is a little longer than the rest of it"))
    session.append(Title(name="mine"))
    session.append(reply("done"))
    session.append(user("two", 2))
    session.append(reply("done again", turn=2))
    session.close()
    return session.info


def truncate(at: int) -> Harm:
    return lambda data: data[:at]


def flip(at: int, bit: int = 0) -> Harm:
    return lambda data: data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def blank(start: int, length: int) -> Harm:
    return lambda data: data[:start] + b"\0" * len(data[start : start + length]) + data[start + length :]


def assert_only_that_record_is_lost(store: Store, info: SessionInfo, name: str, harm: Harm) -> None:
    """The session survives harm to one of its files; afterwards all is as it was before."""
    folder = store.folder(info)
    safe = folder.with_name(f".{info.id}")
    shutil.copytree(folder, safe)
    try:
        seq = int(name[:6])
        path = folder / "records" / name
        harmed = harm(path.read_bytes())
        path.write_bytes(harmed)
        assert seq in {problem.seq for problem in check(folder).problems if not problem.notice}
        session = store.open(info.project_id, info.id)
        assert [note for note in session.notes if note.startswith(f"record {seq} ")]
        assert len(session.notes) == 1
        assert (folder / "damaged" / name).read_bytes() == harmed
        readable = {record.seq for record in session.records()} - set(range(info.records + 1, 99))
        assert readable == set(range(1, info.records + 1)) - {seq}
        new = session.append(user("it goes on", 3))
        assert new.seq > info.records
        session.close()
        session = store.open(info.project_id, info.id)
        assert session.notes == ()
        session.close()
        assert check(folder).ok
    finally:
        shutil.rmtree(folder)
        safe.rename(folder)


@pytest.mark.parametrize("which", range(8))
def test_a_record_cut_short_hides_no_other(store: Store, info: SessionInfo, which: int) -> None:
    name = files(store.folder(info))[which]
    size = (store.folder(info) / "records" / name).stat().st_size
    for at in sorted({0, 1, size // 3, size - 3, size - 2}):
        assert_only_that_record_is_lost(store, info, name, truncate(at))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("which", range(8))
def test_a_record_cut_at_any_byte_hides_no_other(store: Store, info: SessionInfo, which: int) -> None:
    name = files(store.folder(info))[which]
    # Without its final newline alone a record still says everything, and its hash says that it was changed.
    for at in range((store.folder(info) / "records" / name).stat().st_size):
        assert_only_that_record_is_lost(store, info, name, truncate(at))


@pytest.mark.parametrize("which", range(8))
def test_a_flipped_bit_is_noticed_wherever_it_is(store: Store, info: SessionInfo, which: int) -> None:
    name = files(store.folder(info))[which]
    size = (store.folder(info) / "records" / name).stat().st_size
    dice = random.Random(which)
    for _ in range(6):
        assert_only_that_record_is_lost(store, info, name, flip(dice.randrange(size), dice.randrange(8)))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("which", range(8))
def test_a_flipped_bit_in_any_byte_is_noticed(store: Store, info: SessionInfo, which: int) -> None:
    name = files(store.folder(info))[which]
    for at in range((store.folder(info) / "records" / name).stat().st_size):
        assert_only_that_record_is_lost(store, info, name, flip(at, at % 8))


@pytest.mark.parametrize("which", range(8))
def test_a_zeroed_block_is_noticed(store: Store, info: SessionInfo, which: int) -> None:
    name = files(store.folder(info))[which]
    for start, length in ((0, 4096), (40, 16), (0, 1)):
        assert_only_that_record_is_lost(store, info, name, blank(start, length))


def test_a_foreign_file_in_a_record_s_place_is_kept_aside(store: Store, info: SessionInfo) -> None:
    other = (store.folder(info) / "records" / files(store.folder(info))[1]).read_bytes()
    assert_only_that_record_is_lost(store, info, files(store.folder(info))[4], lambda _: other)


@pytest.mark.parametrize("seq", [1, 4, 8])
def test_a_missing_record_is_named_once_and_its_number_never_used_again(
    store: Store, info: SessionInfo, seq: int
) -> None:
    folder = store.folder(info)
    (folder / "records" / files(folder)[seq - 1]).unlink()
    assert [problem.seq for problem in check(folder).problems if problem.kind == "missing"] == [seq]
    session = store.open(info.project_id, info.id)
    assert session.notes == (f"record {seq} is missing",)
    assert check(folder).ok
    assert session.append(user("more", 3)).seq == 9
    session.close()
    session = store.open(info.project_id, info.id)
    assert session.notes == ()
    session.close()


@pytest.mark.parametrize("seq", [1, 4, 8])
def test_a_repair_names_a_missing_record_in_the_session_and_leaves_its_number_free(
    store: Store, info: SessionInfo, seq: int
) -> None:
    folder = store.folder(info)
    (folder / "records" / files(folder)[seq - 1]).unlink()
    assert repair(folder).repaired == ("what was lost is said in record 9",)
    assert check(folder).ok
    assert repair(folder).repaired == ()


def test_a_repair_that_was_killed_after_it_put_the_newest_record_aside_can_be_done_again(
    store: Store, info: SessionInfo
) -> None:
    folder = store.folder(info)
    newest = folder / "records" / files(folder)[-1]
    (folder / "damaged").mkdir()
    newest.rename(folder / "damaged" / newest.name)
    repair(folder)
    assert check(folder).problems == ()


@pytest.mark.parametrize("data", [b"", b"{}", b"null", b"\0" * 500, b'{"id": 3}', b"[" * 9999, b'{"records": 1e999}'])
def test_a_damaged_session_json_costs_nothing(store: Store, info: SessionInfo, data: bytes) -> None:
    (store.folder(info) / "session.json").write_bytes(data)
    assert [found.name for found in store.list()] == ["mine"]
    session = store.open(info.project_id, info.id)
    assert session.notes == ()
    assert session.info.usage == info.usage
    assert session.append(user("more", 3)).seq == 9
    session.close()
    assert check(store.folder(info)).problems == ()


@pytest.mark.parametrize("records", [0, 3, 8, 9, 2_000, 10**15])
def test_a_session_json_that_counts_wrongly_does_not_mislead(store: Store, info: SessionInfo, records: int) -> None:
    import json

    path = store.folder(info) / "session.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"records": records}))
    session = store.open(info.project_id, info.id)
    assert session.append(user("more", 3)).seq in (9, 10)
    assert [entry.seq for entry in session.history.entries][:5] == [2, 3, 4, 6, 7]
    session.close()


def test_leftovers_of_a_killed_writer_are_named_and_swept(store: Store, info: SessionInfo) -> None:
    folder = store.folder(info)
    (folder / "records" / ".000009-message.json.0011aabb.tmp").write_bytes(b"half")
    assert [problem.kind for problem in check(folder).problems] == ["leftover"]
    assert check(folder).ok
    session = store.open(info.project_id, info.id)
    session.append(user("more", 3))
    session.close()
    assert check(folder).problems == ()


def test_a_damaged_compaction_gives_the_older_view(store: Store, tmp_path: Path) -> None:
    session = store.create(tmp_path)
    for n in range(1, 5):
        session.append(user(f"q{n}", n))
    squeezed = session.append(compaction(1, 4, carry=session.history.carry))
    session.append(user("q5", 5))
    session.close()
    (session.folder / "records" / f"{squeezed.seq:06d}-compaction.json").write_bytes(b"")
    session = store.open(session.info.project_id, session.id)
    assert [entry.body.text for entry in session.history.entries] == ["q1", "q2", "q3", "q4", "q5"]
    assert session.notes == ("record 5 is empty",)
    session.close()


def test_two_records_that_disagree_are_both_used_where_nothing_proves_either(store: Store, info: SessionInfo) -> None:
    folder = store.folder(info)
    (folder / "session.json").unlink()
    path = folder / "records" / files(folder)[6]
    path.write_bytes(path.read_bytes().replace(b"two", b"TWO"))
    session = store.open(info.project_id, info.id, read_only=True)
    assert [entry.body.text for entry in session.history.entries if entry.seq > 6] == ["TWO", "done again"]
    assert session.notes == ("record 7 or record 8 was changed: their chain is broken",)
    assert [problem.kind for problem in check(folder).problems if not problem.notice] == ["chain"]
    repair(folder)
    assert check(folder).problems == ()


def test_a_kill_before_session_json_was_written_loses_nothing_but_damage_to_it_is_reported(
    store: Store, info: SessionInfo
) -> None:
    glance = store.folder(info) / "session.json"
    glance.unlink()
    missing = check(glance.parent)
    assert missing.ok
    assert [problem.message for problem in missing.problems] == [
        "session.json is missing; it is rebuilt from the records"
    ]
    glance.write_bytes(b"{")
    assert not check(glance.parent).ok


def test_a_repair_keeps_everything_aside_and_says_so_in_the_session(store: Store, info: SessionInfo) -> None:
    folder = store.folder(info)
    harmed = folder / "records" / files(folder)[2]
    harmed.write_bytes(b"harmed")
    (folder / "records" / "notes.txt").write_text("what is this")
    (folder / "records" / "000002-error.json").write_text("twice")
    (folder / "outputs").mkdir(exist_ok=True)
    (folder / "outputs" / "stray.txt").write_text("stray")
    report = repair(folder)
    assert {problem.kind for problem in report.problems} == {"damaged", "orphan", "pairing"}
    aside = {path.name: path.read_text() for path in (folder / "damaged").iterdir()}
    assert aside == {
        "000003-message.json": "harmed",
        "notes.txt": "what is this",
        "000002-error.json": "twice",
        "stray.txt": "stray",
    }
    after = check(folder)
    assert after.ok
    newest = next(store.open(info.project_id, info.id, read_only=True).records(newest_first=True))
    assert newest.kind == "error"
    assert "record 3" in newest.body.message


@pytest.mark.parametrize("name", ["session.json", "origin.json", "partial.json", "checkpoints/pending.json"])
def test_files_that_are_nested_too_deep_cost_nothing(
    store: Store, info: SessionInfo, tmp_path: Path, name: str
) -> None:
    folder = store.folder(info)
    for each in {"session.json", name}:
        (folder / each).parent.mkdir(exist_ok=True)
        (folder / each).write_text('{"id": ' + "[" * 100_000)
    assert [found.id for found in store.list()] == [info.id]
    session = store.open(info.project_id, info.id)
    assert session.history.turn == 2
    assert store.checkpoints(session, [tmp_path]).recover(()) is None
    session.close()


def test_a_reply_is_saved_as_it_comes_where_no_thread_can_be_started(store: Store, tmp_path: Path) -> None:
    session = Store(store.root, disk=Hasty(), interval=60.0).create(tmp_path)
    session.append(user("one"))
    session.stream(lambda: [Text("so")])
    before = threading.stack_size(1 << 46)  # more than any system has
    try:
        session.stream(lambda: [Text("so far")])
    finally:
        threading.stack_size(before)
    assert "so far" in (session.folder / "partial.json").read_text()
    session.close()


@pytest.mark.parametrize(("before", "after"), [(100_000, 150_000), (700, 700)])
def test_a_long_session_is_read_without_a_search_for_garbage_unless_the_program_searches_often(
    tmp_path: Path, before: int, after: int
) -> None:
    store = Store(tmp_path / "sessions", disk=Hasty())
    session = store.create(tmp_path)
    for number in range(3_000):
        session.append(Title(name=f"name {number}"))
    session.close()
    kept = gc.get_threshold()
    try:
        gc.set_threshold(before, 10, 10)
        store.open(session.info.project_id, session.id, read_only=True)
        assert gc.get_threshold() == (after, 10, 10)
    finally:
        gc.set_threshold(*kept)

"""The writing end of a session: order, repeated writes, the message about a disk that refuses, and its lock."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentcli.core.codec.encode import encode
from agentcli.core.errors import SessionBusy
from agentcli.core.message import Part, Pieces, Text, ToolCall, UnfinishedText
from agentcli.core.record import Pin, Record, Settings
from agentcli.sessions.session import Session
from agentcli.sessions.storage.writer import (
    INTERVAL,
    Lock,
    Outputs,
    Partial,
    Reply,
    Writer,
    holder,
    is_locked,
    output_name,
    read_partial,
)
from agentcli.sessions.store import Store
from agentcli.system.disk import Disk
from tests.sessions.bodies import reply, result, user
from tests.sessions.disks import Act, Failing, File, Hasty, Recording
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


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    writer = filled(tmp_path / "file/session", Failing("create", errno.EIO, 99), 1)
    assert not writer.save()
    assert writer.trouble().startswith(f"The session is not being saved: Not a directory ({tmp_path}/file")


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


# An acknowledged record costs two fsyncs, one of its file and one of the folder; records that are saved together share the folder's.


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


HOLDER = """
import subprocess, sys, time
from pathlib import Path
from agentcli.sessions.storage.writer import Lock
lock = Lock(Path(sys.argv[1]))
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_lock_is_held_once_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    lock = Lock(path)
    assert is_locked(path)
    assert holder(path) == str(os.getpid())
    with pytest.raises(SessionBusy, match=str(os.getpid())):
        Lock(path, patience=0.0)
    lock.release()
    lock.release()
    assert not is_locked(path)
    Lock(path).release()


def test_a_lock_dies_with_its_process_even_where_its_children_live_on(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert is_locked(path)
            with pytest.raises(SessionBusy, match=f"process {process.pid}"):
                Lock(path, patience=0.0)
            process.kill()
            process.wait()
            os.kill(child, 0)
            assert not is_locked(path)
            Lock(path).release()
        finally:
            os.kill(child, signal.SIGKILL)


def test_whoever_looks_does_not_get_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    Lock(path).release()
    for _ in range(50):
        assert not is_locked(path)
        Lock(path, patience=0.0).release()


def test_a_lock_on_what_was_moved_away_is_taken_anew(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    (tmp_path / "lock").rename(tmp_path / "moved")
    second = Lock(tmp_path / "lock")
    first.release()
    assert is_locked(tmp_path / "lock")
    second.release()


def test_a_lock_that_is_freed_within_the_wait_is_taken(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    threading.Timer(0.03, first.release).start()
    second = Lock(tmp_path / "lock", patience=30)
    assert is_locked(tmp_path / "lock")
    second.release()


def test_a_lock_whose_file_is_moved_away_during_the_wait_is_let_go(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")

    def move() -> None:
        (tmp_path / "lock").rename(tmp_path / "moved")
        first.release()

    threading.Timer(0.03, move).start()
    second = Lock(tmp_path / "lock", patience=30)
    assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "moved")
    second.release()


def test_the_file_of_a_lock_names_its_holder_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304999\nolder")
    lock = Lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.release()


@pytest.mark.parametrize("signed", [True, False])
def test_a_session_that_is_open_elsewhere_is_told_with_what_to_do(tmp_path: Path, signed: bool) -> None:
    folder = tmp_path / "s-1"
    folder.mkdir()
    lock = Lock(folder / "lock")
    if not signed:
        (folder / "lock").write_text("")
    who = f" (process {os.getpid()})" if signed else ""
    with pytest.raises(SessionBusy) as busy:
        Lock(folder / "lock", patience=0.0)
    assert str(busy.value) == (
        f"Session s-1 is open for writing in another agentcli{who}. Open it read-only with `agentcli sessions show s-1`, "
        "or continue in a copy with `agentcli resume s-1 --fork`."
    )
    lock.release()


# Names of the files in which outputs are kept.


@pytest.mark.parametrize("call_id", ["a", "toolu_01-b", "x" * 100])
def test_a_plain_id_is_the_name(call_id: str) -> None:
    assert output_name(call_id) == f"{call_id}.txt"


@each_row(
    ("call_id", "beginning"),
    [("", ""), ("../a", "___a"), ("a b", "a_b"), ("é", "_"), ("x" * 101, "x" * 100), ("\ud800", "_")],
)
def test_any_other_id_is_told_apart_by_a_number_made_from_it(call_id: str, beginning: str) -> None:
    stem, _, number = output_name(call_id).removesuffix(".txt").rpartition("-")
    assert (stem, len(number)) == (beginning, 12)
    assert output_name(call_id + "!") != output_name(call_id)


def test_an_id_that_is_used_again_in_another_session_of_the_server_gets_a_number(tmp_path: Path) -> None:
    for expected in ("a.txt", "a-2.txt", "a-3.txt"):
        outputs = Outputs(tmp_path, Disk())
        assert outputs.add("a", "text") == str(tmp_path / expected)
        assert outputs.add("a", expected) == str(tmp_path / expected), "the same call keeps its file"
        outputs.save()
        assert (tmp_path / expected).read_text() == expected


def test_bytes_keep_their_ending_and_text_that_is_no_unicode_is_spelled(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path, Disk())
    assert outputs.add("p", b"\x89PNG", ".png") == str(tmp_path / "p.png")
    assert outputs.add("p2", "a\ud800") == str(tmp_path / "p2.txt")
    outputs.save()
    assert (tmp_path / "p.png").read_bytes() == b"\x89PNG"
    assert (tmp_path / "p2.txt").read_text() == "a\\ud800"


# The saver of a streaming reply: when it writes, what a killed process leaves, and what of a damaged file is read.


LONG = 600.0


def parts(text: str) -> Callable[[], Sequence[Part]]:
    return lambda: [Text(text)]


def saved(path: Path) -> str:
    """The text of the saved reply; empty if there is none."""
    reply = read_partial(path)
    return "".join(part.text for part in reply.parts if isinstance(part, Text)) if reply else ""


def timers(partial: Partial) -> list[threading.Timer]:
    """The timers of this reply; other tests may have left some of their own."""
    found = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    return [timer for timer in found if getattr(timer.function, "__self__", None) is partial]


def comes(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.002)
    return condition()


def test_the_first_piece_is_saved_at_once_and_the_next_ones_wait_for_their_time(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), LONG)
    partial.keep(4, parts("a"))
    assert read_partial(path) == Reply(4, (Text("a"),))
    assert timers(partial) == []
    partial.keep(4, parts("ab"))
    partial.keep(4, parts("abc"))
    assert saved(path) == "a"
    [timer] = timers(partial)
    assert timer.daemon, "a program that ends does not wait for it"
    partial.flush()
    assert read_partial(path) == Reply(4, (Text("abc"),))
    assert comes(lambda: not timer.is_alive())
    partial.keep(4, parts("abcd"))
    assert saved(path) == "abc", "its time counts from the last save"
    partial.clear()
    assert not path.exists()
    partial.flush()
    assert not path.exists(), "it is forgotten"
    for timer in timers(partial):
        timer.cancel()


def test_a_save_comes_by_itself_when_its_time_has_come(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.03)
    for text in ("a", "ab", "abc"):
        partial.keep(1, parts(text))
    assert comes(lambda: saved(path) == "abc")
    assert comes(lambda: not timers(partial))
    partial.keep(1, parts("abcd"))
    assert comes(lambda: saved(path) == "abcd")


def test_an_unfinished_text_in_pieces_is_saved_as_one(tmp_path: Path) -> None:
    partial = Partial(tmp_path / "partial.json", Hasty(), LONG)
    partial.keep(2, lambda: (Text("done"), UnfinishedText(map(Pieces, ["not ", "yet", " \ud83d", "ü" * 100_000]))))
    assert read_partial(tmp_path / "partial.json") == Reply(2, (Text("done"), Text("not yet \ud83d" + "ü" * 100_000)))


def test_without_an_interval_every_piece_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.0)
    for text in ("a", "ab", "abc"):
        partial.keep(1, parts(text))
        assert saved(path) == text
    assert INTERVAL == 1


def test_a_timer_that_finds_nothing_serves_the_next_reply(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.03)
    partial.keep(1, parts("a"))
    partial.keep(1, parts("ab"))
    partial.clear()
    assert comes(lambda: not timers(partial))
    assert not path.exists()
    partial.keep(2, parts("b"))
    assert comes(lambda: read_partial(path) == Reply(2, (Text("b"),)))


def test_pieces_are_only_put_together_for_a_save_and_nothing_is_saved_of_an_empty_reply(tmp_path: Path) -> None:
    disk = Failing("unlink", errno.EIO, 1, forever=True)
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, list)
    partial.flush()
    partial.clear()
    assert list(tmp_path.iterdir()) == []
    assert disk.calls == 0, "there was nothing to remove"
    asked: list[str] = []

    def text() -> Sequence[Part]:
        asked.append("asked")
        return [Text("a")]

    slow = Partial(tmp_path / "slow.json", Hasty(), LONG)
    slow.keep(1, text)
    slow.keep(1, text)
    assert asked == ["asked"]
    slow.flush()
    assert asked == ["asked"] * 2
    slow.flush()
    assert asked == ["asked"] * 2, "all is written"


@each_row("call", ["create", "write", "rename", "unlink"])
def test_a_disk_that_refuses_a_reply_stops_nothing(tmp_path: Path, call: str) -> None:
    disk = Failing(call, errno.ENOSPC, 1, forever=True)
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, parts("a"))
    partial.flush()
    partial.clear()
    assert disk.failed
    disk.heal()
    partial.keep(2, parts("b"))
    assert saved(tmp_path / "partial.json") == "b"
    partial.clear()
    assert not (tmp_path / "partial.json").exists()


def test_a_reply_is_removed_once(tmp_path: Path) -> None:
    disk = Recording()
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, parts("a"))
    partial.clear()
    count = len(disk.acts)
    partial.clear()
    assert len(disk.acts) == count


TEXT = {"type": "text", "text": "a"}


@each_row(
    ("raw", "reply"),
    [
        ({"after": 3, "parts": [TEXT]}, Reply(3, (Text("a"),))),
        ({"after": 3, "parts": []}, Reply(3, ())),
        ({"after": 3, "parts": [TEXT, 5, None, {}, {"type": "text"}, {"type": "new"}, {"type": "text", "text": 5}]}, Reply(3, (Text("a"),))),
        (
            {"after": 3, "parts": [{"type": "tool_call", "call_id": "c", "name": "read", "input": {}}]},
            Reply(3, (ToolCall("c", "read", {}),)),
        ),
        ({"parts": [TEXT]}, None),
        ({"after": "many", "parts": [TEXT]}, None),
        ({"after": None, "parts": [TEXT]}, None),
        ({"after": 3}, None),
        ({"after": 3, "parts": 5}, None),
        ([], None),
        (None, None),
    ],
)  # fmt: skip
def test_damaged_parts_of_a_reply_are_dropped(tmp_path: Path, raw: object, reply: Reply | None) -> None:
    (tmp_path / "partial.json").write_text(json.dumps(raw))
    assert read_partial(tmp_path / "partial.json") == reply


@each_row("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_reply_is_none(tmp_path: Path, data: bytes) -> None:
    assert read_partial(tmp_path / "partial.json") is None
    (tmp_path / "partial.json").write_bytes(data)
    assert read_partial(tmp_path / "partial.json") is None

from __future__ import annotations

import hashlib
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from agentcli.core.errors import SessionBusy, StoreError
from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Prune, Settings, Title, Undo
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.info import Parent
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.system.disk import Disk
from tests.sessions.bodies import compaction, files, read, reply, result, user


@pytest.fixture
def session(store: Store, tmp_path: Path):
    opened = store.create(tmp_path, model="demo/scripted", mode="ask")
    yield opened
    opened.close()


def again(store: Store, session: Session, read_only: bool = False) -> Session:
    session.close()
    return store.open(session.info.project_id, session.id, read_only)


def test_a_session_in_which_nothing_was_said_leaves_nothing_behind(store: Store, session: Session) -> None:
    session.append(Settings(mode="plan"))
    session.close()
    assert not store.root.exists()


def test_records_are_numbered_files_whose_hashes_form_a_chain(session: Session) -> None:
    session.append(user("hello"))
    session.append(reply("hi"))
    assert files(session.folder) == ["000001-settings.json", "000002-message.json", "000003-message.json"]
    before = ""
    for name in files(session.folder):
        path = session.folder / "records" / name
        assert read(path)["prev"] == before
        before = hashlib.sha256(path.read_bytes()).hexdigest()


def test_everything_belongs_to_its_owner_alone(session: Session) -> None:
    session.append(user("hello"))
    session.stream(lambda: [Text("wor")])
    session.keep_output("call", "much")
    for path in [session.folder, *session.folder.rglob("*"), *session.folder.parents[:2]]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_living_and_resuming_agree(store: Store, session: Session) -> None:
    for body in (user("fix it"), reply("looking", "a"), result("a"), Title(name="fixing"), reply("done")):
        session.append(body)
    lived = session.history
    assert again(store, session).history == lived


def test_session_json_says_what_the_contract_says(session: Session, tmp_path: Path) -> None:
    session.append(user("make the tests pass\nplease"))
    session.append(reply("editing", "a", "b", "c"))
    session.append(result("a", additions=3, deletions=1, path="/x/a.py"))
    session.append(result("b", additions=2, deletions=0, path="/x/a.py"))
    session.append(result("c", additions=1, deletions=1, path="/x/b.py"))
    session.settle()
    glance = read(session.folder / "session.json")
    contract = "schema id project_id directory parent title name version model mode time summary usage cost records"
    assert set(contract.split()) <= set(glance)
    assert glance["summary"] == {"additions": 6, "deletions": 2, "files": 2}
    assert glance["title"] == "make the tests pass"
    assert glance["directory"] == str(tmp_path)
    assert glance["records"] == 6
    assert glance["usage"]["input"] == 10
    assert glance["cost"] == 0.01
    assert set(glance["time"]) == {"created", "updated", "compacting"}


def test_session_json_is_written_at_most_once_an_interval_and_when_a_turn_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions", interval=1000)
    session = store.create(tmp_path)
    session.append(user("hello"))
    session.append(reply("hi"))
    assert read(session.folder / "session.json")["records"] == 1
    assert [info.records for info in store.list()] == [2]
    session.settle()
    assert read(session.folder / "session.json")["records"] == 2
    session.append(user("more"))
    forked = store.fork(session.info)
    assert (forked.records, store.list()[-1].cost) == (3, session.info.cost)
    session.close()
    assert read(session.folder / "session.json")["records"] == 3


def test_a_lost_session_json_comes_back_from_the_records(store: Store, session: Session) -> None:
    session.append(user("hello"))
    session.append(reply("hi"))
    session.append(Title(name="mine"))
    session.close()
    before = session.info
    (session.folder / "session.json").unlink()
    assert [info.name for info in store.list()] == ["mine"]
    opened = again(store, session)
    assert opened.info == before
    opened.append(user("more"))
    assert read(opened.folder / "session.json")["title"] == "hello"
    opened.close()


def test_a_streaming_reply_is_kept_and_gone_once_its_record_stands(session: Session) -> None:
    session.append(user("hello"))
    session.stream(lambda: [Text("wor")])
    assert read(session.folder / "partial.json")["parts"] == [{"type": "text", "text": "wor"}]
    session.append(reply("world"))
    assert not (session.folder / "partial.json").exists()


def test_a_streaming_reply_is_written_at_most_once_an_interval_and_its_last_piece_too(tmp_path: Path) -> None:
    session = Store(tmp_path / "sessions", interval=0.2).create(tmp_path)
    session.append(user("hello"))
    partial = session.folder / "partial.json"
    session.stream(lambda: [Text("a")])
    first = partial.stat().st_ino
    session.stream(lambda: [Text("ab")])
    session.stream(lambda: [Text("abc")])
    assert partial.stat().st_ino == first
    until = time.monotonic() + 10
    while read(partial)["parts"][0]["text"] != "abc" and time.monotonic() < until:
        time.sleep(0.01)
    assert read(partial)["parts"][0]["text"] == "abc"
    session.close()


def test_a_reply_that_has_said_nothing_yet_is_not_saved_and_delays_no_save(tmp_path: Path) -> None:
    session = Store(tmp_path / "sessions", interval=1000).create(tmp_path)
    session.append(user("hello"))
    session.stream(list)
    assert not (session.folder / "partial.json").exists()
    session.stream(lambda: [Text("a")])
    assert read(session.folder / "partial.json")["parts"] == [{"type": "text", "text": "a"}]
    session.close()


def test_a_reply_cut_off_by_a_crash_is_kept_and_its_calls_are_answered(store: Store, session: Session) -> None:
    session.append(user("hello", turn=1))
    session.stream(lambda: [Thinking("hm"), Text("I will"), ToolCall("a", "bash", {"command": "rm x"})])
    session.close()
    opened = again(store, session)
    *_, message, answer = (entry.body for entry in opened.history.entries)
    assert isinstance(message, Message)
    assert message.stop == "interrupted"
    assert message.parts[:2] == (Thinking("hm"), Text("I will"))
    assert (message.provider, message.model, message.turn) == ("demo", "scripted", 1)
    assert isinstance(answer, ToolResult)
    assert (answer.call_id, answer.status) == ("a", "interrupted")
    assert not (opened.folder / "partial.json").exists()
    opened.close()


def test_an_open_call_is_answered_as_interrupted_and_only_once(store: Store, session: Session) -> None:
    session.append(user("hello"))
    session.append(reply("running", "a", "b"))
    session.append(result("a"))
    opened = again(store, session)
    answers = [entry.body for entry in opened.history.entries if isinstance(entry.body, ToolResult)]
    assert [(answer.call_id, answer.status) for answer in answers] == [("a", "success"), ("b", "interrupted")]
    assert "may or may not have taken effect" in answers[1].output
    count = opened.info.records
    opened = again(store, opened)
    assert opened.info.records == count
    opened.close()


def test_a_partial_reply_whose_record_stands_is_not_said_twice(store: Store, session: Session) -> None:
    session.append(user("hello"))
    session.stream(lambda: [Text("wor")])
    leftover = (session.folder / "partial.json").read_bytes()
    session.append(reply("world"))
    (session.folder / "partial.json").write_bytes(leftover)
    opened = again(store, session)
    assert [entry.body.text for entry in opened.history.entries] == ["hello", "world"]
    assert not (opened.folder / "partial.json").exists()
    opened.close()


def test_a_second_writer_is_told_who_writes_and_what_to_do(store: Store, session: Session) -> None:
    import os

    session.append(user("hello"))
    with pytest.raises(SessionBusy, match=rf"process {os.getpid()}\).*sessions show.*--fork"):
        store.open(session.info.project_id, session.id)
    watching = store.open(session.info.project_id, session.id, read_only=True)
    assert watching.history == session.history
    with pytest.raises(StoreError, match="read-only"):
        watching.append(user("me too"))


def test_reading_only_changes_nothing(store: Store, session: Session) -> None:
    session.append(user("hello"))
    session.append(reply("running", "a"))
    session.stream(lambda: [Text("x")])
    session.close()
    before = {path: path.stat().st_mtime_ns for path in session.folder.rglob("*")}
    again(store, session, read_only=True).close()
    assert {path: path.stat().st_mtime_ns for path in session.folder.rglob("*")} == before


def test_a_kept_output_comes_back_by_its_path_or_name(session: Session) -> None:
    session.append(user("hello"))
    path = session.keep_output("toolu_1", "all of it\n")
    assert Path(path).read_text() == "all of it\n"
    assert Path(path).parent == session.folder / "outputs"
    assert session.output(path) == session.output("outputs/toolu_1.txt") == "all of it\n"
    assert session.output("outputs/other.txt") == ""


class Slow(Disk):
    """Gives other threads time in each write."""

    def fsync(self, file: int) -> None:
        time.sleep(0.002)


def test_outputs_kept_by_threads_and_records_made_meanwhile_all_last(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions", disk=Slow())
    session = store.create(tmp_path, model="demo/scripted", mode="ask")
    session.append(user("hello"))
    calls = [f"call-{n}" for n in range(40)]
    with ThreadPoolExecutor(4) as threads:
        kept = threads.map(lambda call: session.keep_output(call, f"output of {call}"), calls)
        for n in range(30):
            session.append(reply(f"reply {n}"))
        paths = list(kept)
    opened = again(store, session, read_only=True)
    assert [opened.output(path) for path in paths] == [f"output of {call}" for call in calls]
    texts = [record.body.text for record in opened.records() if isinstance(record.body, Message)]
    assert texts == ["hello", *(f"reply {n}" for n in range(30))]


def test_a_closed_session_can_be_opened_though_a_tool_still_keeps_outputs(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions", disk=Slow())
    session = store.create(tmp_path, model="demo/scripted", mode="ask")
    session.append(user("hello"))

    def keep(call: int) -> None:
        with suppress(StoreError):
            session.keep_output(f"call-{call}", "much")

    with ThreadPoolExecutor(4) as threads:
        threads.map(keep, range(40))
        time.sleep(0.004)
        session.close()
    again(store, session).close()


def test_a_file_that_a_tool_brought_is_kept_byte_for_byte(session: Session) -> None:
    session.append(user("hello"))
    first = session.keep_output("call-1", b"\0\xff", ".wav")
    assert Path(first).read_bytes() == b"\0\xff"
    assert Path(first).name == "call-1.wav"
    assert Path(session.keep_output("a/../b", b"x", ".wav")).parent == Path(first).parent


def test_no_call_id_leads_out_of_the_outputs(session: Session) -> None:
    session.append(user("hello"))
    hostile = ["../../x", "/etc/passwd", "", ".", "a" * 5000, "a/b", "a_b", "\x00", "\ud800"]
    paths = {session.keep_output(call, call[:3]) for call in hostile}
    assert len(paths) == len(hostile)
    assert {Path(path).parent for path in paths} == {session.folder / "outputs"}


def test_an_undone_compaction_gives_the_view_back_from_disk(session: Session) -> None:
    for n in range(4):
        session.append(user(f"question {n}", n + 1))
        session.append(reply(f"answer {n}", turn=n + 1))
    before = session.history.entries
    squeezed = session.append(compaction(2, 8, carry=session.history.carry))
    assert len(session.history.entries) == 2
    session.append(Undo(squeezed.seq))
    assert session.history.entries == before


def test_a_rewind_and_its_undo(store: Store, session: Session) -> None:
    first = session.append(user("one"))
    session.append(reply("1"))
    session.append(user("two", 2))
    session.append(Prune((), 0, "test"))
    rewind = session.append(Undo(first.seq, "rewind"))
    assert [entry.body.text for entry in session.history.entries] == ["one"]
    assert again(store, session, read_only=True).history.entries == session.history.entries
    session = store.open(session.info.project_id, session.id)
    session.append(Undo(rewind.seq, "undo"))
    assert [entry.body.text for entry in session.history.entries] == ["one", "1", "two"]
    session.close()


def test_records_are_read_both_ways_and_one_by_one(session: Session) -> None:
    written = [session.append(user(str(n))) for n in range(3)]
    assert list(session.records())[1:] == written
    assert list(session.records(newest_first=True))[:-1] == written[::-1]
    assert session.record(3) == written[1]
    assert session.record(99) is None


def test_resuming_reads_nothing_before_what_the_newest_compaction_kept(store: Store, session: Session) -> None:
    for n in range(1, 20):
        session.append(user(f"question {n}", n))
    session.append(compaction(3, 18, kept=(2,), carry=session.history.carry))
    session.append(user("and now", 20))
    lived = session.history
    session.close()
    for path in sorted((session.folder / "records").iterdir())[2:16]:
        path.write_bytes(b"unreadable, and nobody looks")
    opened = again(store, session)
    assert opened.notes == ()
    assert opened.history == lived
    opened.close()


def test_a_record_of_a_kind_that_nobody_knows_yet_is_kept_and_skipped(store: Store, session: Session) -> None:
    import json

    last = session.append(user("hello"))
    session.close()
    head = session.info.head
    raw = {"schema": 9, "seq": 3, "id": "x", "time": last.time, "kind": "hologram", "prev": head, "depth": 3}
    strange = session.folder / "records" / "000003-hologram.json"
    strange.write_text(json.dumps(raw))
    opened = again(store, session)
    assert opened.notes == ()
    assert opened.append(user("more")).seq == 4
    assert json.loads(strange.read_text()) == raw
    assert [entry.body.text for entry in again(store, opened, read_only=True).history.entries] == ["hello", "more"]


def test_a_rewind_brings_no_former_mode_model_or_name_back(store: Store, tmp_path: Path) -> None:
    for journal in (store.create(tmp_path, model="demo/big", mode="yolo"), MemorySession()):
        journal.append(Settings("demo/big", "yolo"))
        first = journal.append(user("one"))
        journal.append(Settings("demo/small", "ask"))
        journal.append(Title(name="mine"))
        journal.append(user("two", 2))
        rewind = journal.append(Undo(first.seq, "rewind"))
        for _ in range(2):
            history = journal.history
            assert (history.model, history.mode, history.name) == ("demo/small", "ask", "mine")
            assert len(history.entries) in (1, 2)
            journal.append(Undo(rewind.seq, "undo"))
        assert [entry.body.text for entry in journal.history.entries] == ["one", "two"]
        journal.close()
    info = store.list()[0]
    assert store.open(info.project_id, info.id, read_only=True).history.mode == "ask"


def test_what_was_spent_stays_counted_whatever_is_taken_back(store: Store, session: Session) -> None:
    before_it = session.info.records
    session.append(user("one"))
    session.append(reply("first"))
    session.append(Title("Better", model="demo/cheap", usage=Usage(3, 2), cost=0.001))
    session.append(Failure("empty", "demo/scripted", Usage(7, 1), 0.002))
    rewind = session.append(Undo(before_it, "rewind"))
    spent = Usage(input=20, output=8)
    assert (session.info.usage, round(session.info.cost or 0, 6)) == (spent, 0.013)
    assert session.info.title == session.history.title == "Better"
    session.append(Undo(rewind.seq, "undo"))
    assert session.history.usage == spent
    glance = session.folder / "session.json"
    session.close()
    before = read(glance)
    glance.unlink()
    rebuilt = store.open(session.info.project_id, session.id)
    assert rebuilt.info.usage == spent
    rebuilt.close()
    assert read(glance)["usage"] == before["usage"]


def test_no_undo_rewind_uncompress_or_redo_fills_a_budget_again(store: Store, tmp_path: Path) -> None:
    for journal in (store.create(tmp_path, model="demo/big", mode="ask"), MemorySession()):
        first = journal.append(user("one"))
        journal.append(reply("first"))
        journal.append(user("two", 2))
        journal.append(reply("second", turn=2))
        spent, cost = Usage(input=20, output=10), 0.02
        assert (journal.history.usage, journal.history.cost) == (spent, cost)
        rewind = journal.append(Undo(first.seq - 1, "rewind"))
        assert journal.history.usage == spent
        journal.append(Undo(rewind.seq, "undo"))
        assert journal.history.usage == spent
        squeezed = journal.append(
            compaction(1, first.seq + 2, usage=Usage(7, 1), cost=0.005, carry=journal.history.carry)
        )
        spent += Usage(7, 1)
        journal.append(Undo(squeezed.seq, "compaction"))
        assert journal.history.usage == spent
        journal.append(Undo(first.seq, "rewind"))
        journal.append(reply("again"))
        journal.append(Undo(first.seq - 1, "rewind"))
        spent += Usage(10, 5)
        assert (journal.history.usage, round(journal.history.cost or 0, 6)) == (spent, 0.035)
        journal.append(compaction(1, journal.history.last_seq + 1, carry=journal.history.carry))
        assert journal.history.usage == spent
        journal.close()
    info = store.list()[0]
    resumed = store.open(info.project_id, info.id)
    assert (resumed.history.usage, round(resumed.history.cost or 0, 6)) == (spent, 0.035)
    assert resumed.info.usage == spent
    resumed.close()


def test_an_output_is_never_overwritten_by_that_of_another_call_with_its_id(store: Store, session: Session) -> None:
    first = session.keep_output("call_1", "what the first call gave")
    assert session.keep_output("call_1", "and went on to give") == first
    session.append(user("hello"))
    session.close()
    again = store.open(session.info.project_id, session.id)
    second = again.keep_output("call_1", "of another call, after a restart")
    assert (again.output(first), again.output(second)) == ("and went on to give", "of another call, after a restart")
    again.close()


def test_an_open_call_is_answered_though_a_former_one_had_its_id(store: Store, session: Session) -> None:
    session.append(reply("first", "call_1"))
    session.append(result("call_1"))
    session.append(reply("second", "call_1"))
    session.close()
    opened = store.open(session.info.project_id, session.id)
    newest = opened.history.entries[-1].body
    assert isinstance(newest, ToolResult)
    assert newest.status == "interrupted"
    opened.close()


def test_only_a_handoff_has_a_predecessor(store: Store, session: Session, tmp_path: Path) -> None:
    session.append(user("first"))
    for kind, has_one in (("handoff", True), ("fork", False), ("subagent", False)):
        later = store.create(tmp_path, parent=Parent(session.id, 1, kind)).follow(lambda _: session)
        assert (later.predecessor is not None) is has_one, kind
        assert later.follow(lambda _: None).predecessor == later.predecessor
        later.close()
    assert session.follow(lambda _: session).predecessor is None

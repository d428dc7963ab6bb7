from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.codec.encode import decode
from agentcli.core.errors import InputError
from agentcli.core.record import Body, Title
from agentcli.sessions.copying import INCOMING, build, settle_drafts
from agentcli.sessions.imported import Imported
from agentcli.sessions.info import Parent
from agentcli.sessions.integrity import check, unfinished
from agentcli.sessions.session import Session
from agentcli.sessions.storage.records import RecordFolder
from agentcli.sessions.store import Store
from agentcli.sessions.tree import nested
from agentcli.system.disk import DISK
from tests.counted import counted
from tests.sessions.bodies import compaction, files, read, reply, result, user
from tests.sessions.imported import store_imported


@pytest.fixture
def session(store: Store, tmp_path: Path):
    opened = store.create(tmp_path)
    opened.append(user("one"))
    opened.append(reply("looking", "a"))
    opened.keep_output("a", "everything")
    opened.append(result("a", additions=2, path="/x"))
    opened.append(reply("done"))
    opened.append(user("two", 2))
    yield opened
    opened.close()


def texts(session: Session) -> list[str]:
    return [entry.body.text for entry in session.history.entries if hasattr(entry.body, "text")]


def test_a_fork_begins_as_the_session_was_and_goes_its_own_way(store: Store, session: Session) -> None:
    fork = store.fork(session.info)
    other = store.open(fork.project_id, fork.id)
    assert other.history == session.history
    other.append(reply("fork's answer", turn=2))
    session.append(reply("session's answer", turn=2))
    assert texts(other)[-1] == "fork's answer"
    assert texts(session)[-1] == "session's answer"
    assert other.output("outputs/a.txt") == "everything"
    assert read(other.folder / "session.json")["parent"] == {"session": session.id, "seq": 5, "kind": "fork"}
    other.close()


def test_a_fork_shares_files_and_leaves_the_source_untouched(store: Store, session: Session) -> None:
    before = {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()}
    fork = store.fork(session.info)
    assert {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()} == before
    name = files(session.folder)[0]
    assert (store.folder(fork) / "records" / name).samefile(session.folder / "records" / name)


def test_what_a_fork_and_a_rename_go_through_can_be_counted(store: Store, session: Session) -> None:
    session.close()
    info = session.info
    passed: list[object] = []

    def through(things: Iterable[Any]) -> Iterator[Any]:
        for thing in things:
            passed.append(thing)
            yield thing

    store.fork(info, through=through)
    assert len(passed) == info.records
    store.rename(info, "counted", through=through)
    assert len(passed) == 2 * info.records


def test_a_fork_at_an_earlier_point_knows_nothing_later(store: Store, session: Session) -> None:
    fork = store.fork(session.info, 2)
    assert files(store.folder(fork)) == files(session.folder)[:2]
    assert fork.summary.additions == 0
    assert fork.records == 2
    other = store.open(fork.project_id, fork.id)
    assert [entry.body.status for entry in other.history.entries if hasattr(entry.body, "status")] == ["interrupted"]
    other.close()


@pytest.mark.parametrize("seq", [0, -1, 6, 999])
def test_a_fork_at_a_record_that_is_not_there_is_refused(store: Store, session: Session, seq: int) -> None:
    with pytest.raises(InputError):
        store.fork(session.info, seq)
    assert len(store.list()) == 1


def test_forks_of_a_named_session_have_names_of_their_own(store: Store, session: Session) -> None:
    session.append(Title(name="mine"))
    names = [store.fork(session.info).name for _ in range(2)]
    assert names == ["mine (2)", "mine (3)"]
    assert store.find("mine").id == session.id


def test_a_fork_has_its_name_when_it_appears_and_no_record_is_read_for_it(store: Store, session: Session) -> None:
    session.append(Title(name="mine"))
    session.close()
    with counted(decode, RecordFolder.path) as calls:
        fork = store.fork(session.info)
    assert not calls
    copy = store.open(fork.project_id, fork.id, read_only=True)
    assert [record.body for record in copy.records()][-1] == Title(name="mine (2)")
    assert (copy.info.records, copy.info.parent) == (session.info.records + 1, Parent(session.id, session.info.records))
    assert check(copy.folder).problems == ()


def test_of_two_files_with_one_number_a_fork_has_the_one_that_counts(store: Store, session: Session) -> None:
    first = session.folder / "records" / "000001-message.json"
    (first.parent / "000001-settings.json").write_bytes(first.read_bytes())
    assert files(store.folder(store.fork(session.info))) == files(session.folder)[:1] + files(session.folder)[2:]


def test_the_title_of_a_fork_says_that_it_is_one(store: Store, session: Session) -> None:
    fork = store.fork(session.info)
    assert (session.info.title, fork.title) == ("one", "one (fork)")
    assert store.fork(fork).title == "one (fork)"
    assert store.fork(session.info, 2).title == "one (fork)"
    (store.folder(fork) / "session.json").unlink()
    assert store.find(fork.id).title == "one (fork)"
    other = store.open(fork.project_id, fork.id)
    other.append(Title("a better one"))
    other.close()
    assert store.find(fork.id).title == "a better one"


def test_a_fork_survives_the_deletion_of_its_source(store: Store, session: Session) -> None:
    fork = store.fork(session.info)
    session.close()
    store.delete(session.info)
    store.trash.empty()
    other = store.open(fork.project_id, fork.id)
    assert other.history.entries == session.history.entries
    assert other.notes == ()
    other.close()


def test_a_fork_after_a_compaction_costs_and_shows_the_same_view(store: Store, session: Session) -> None:
    session.append(compaction(1, 4, carry=session.history.carry))
    fork = store.fork(session.info)
    other = store.open(fork.project_id, fork.id, read_only=True)
    assert other.history == session.history


def test_branches_are_a_tree() -> None:
    parents = {"c": "a", "lost": "nowhere", "a": "", "d": "c", "b": "a", "me": "me"}
    drawn = list(nested(parents))
    assert drawn == [(0, "lost"), (0, "a"), (1, "c"), (2, "d"), (1, "b"), (0, "me")]


def from_outside(tmp_path: Path, *bodies: tuple[str, Body], **more: Any) -> Imported:
    return Imported("agentcli", "", str(tmp_path), "", bodies[0][0] if bodies else "", bodies, **more)


def test_a_session_from_outside_is_stored_with_its_own_times(store: Store, tmp_path: Path) -> None:
    bodies = [("2020-01-01T00:00:00.000Z", user("old")), ("2020-01-01T00:00:01.000Z", reply("older", "a"))]
    answer = ("2020-01-01T00:00:02.000Z", result("a"))
    info = store_imported(store.root, from_outside(tmp_path, *bodies, answer, outputs={"a.txt": "whole"}), tmp_path)
    assert (info.time.created, info.title, info.records) == ("2020-01-01T00:00:00.000Z", "old", 3)
    session = store.open(info.project_id, info.id)
    assert [record.time[:4] for record in session.records()] == ["2020"] * 3
    assert session.output("outputs/a.txt") == "whole"
    assert session.notes == ()
    session.close()


def test_records_exported_as_they_were_come_back_byte_for_byte(store: Store, session: Session, tmp_path: Path) -> None:
    raw = [(session.folder / "records" / name).read_bytes() for name in files(session.folder)]
    info = store_imported(
        store.root, from_outside(tmp_path, kept=tuple((decode(data), data) for data in raw)), tmp_path
    )
    assert [(store.folder(info) / "records" / name).read_bytes() for name in files(store.folder(info))] == raw
    assert info.usage == session.info.usage


def test_a_session_from_outside_that_cannot_be_written_leaves_nothing(store: Store, tmp_path: Path) -> None:
    bodies: tuple[Any, ...] = (("2026-01-01", user("Hi")), ("2026-01-02", object()))
    with pytest.raises(KeyError):
        store_imported(store.root, from_outside(tmp_path, *bodies), tmp_path)
    assert store.list() == []
    assert [path for path in store.root.rglob("*") if path.name.startswith(INCOMING)] == []


def test_what_is_left_of_a_fork_whose_process_died_goes_with_the_next_one(store: Store, session: Session) -> None:
    project = session.folder.parent
    fresh, stray = project / f"{INCOMING}1", project / f"{INCOMING}2"
    for folder in (fresh, stray):
        (folder / "records").mkdir(parents=True)
    os.utime(stray, (1, 1))
    store.fork(session.info)
    assert fresh.exists()  # somebody may be at work on it
    assert not stray.exists()


def test_a_fork_that_is_killed_leaves_what_check_names_and_nobody_takes_for_a_session(
    store: Store, session: Session
) -> None:
    child = os.fork()
    if not child:
        target = store.folder(session.info).with_name("20260101-000000-0000000")
        build(target, lambda folder: os.kill(os.getpid(), signal.SIGKILL), DISK)
    os.waitpid(child, 0)
    project = store.folder(session.info).parent
    [report] = unfinished(project, 3_600)
    assert (report.session, report.ok, report.repaired) == (".incoming-20260101-000000-0000000", True, ())
    assert [info.id for info in store.list()] == [session.id]
    assert unfinished(project, 3_600, mend=True)[0].repaired == ()  # too young
    assert unfinished(project, 0, mend=True)[0].repaired == ("never finished: removed",)
    assert unfinished(project, 0) == []


def test_a_fork_that_is_being_built_is_none_of_the_others_business(store: Store, session: Session) -> None:
    target = store.folder(session.info).with_name("20260101-000000-0000000")
    begun = build(target, lambda folder: replace(session.info, id=target.name), DISK)
    assert unfinished(target.parent, 0, mend=True) == []
    assert begun.folder.is_dir()
    settle_drafts([begun])
    assert target.is_dir()

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import SessionBusy
from agentcli.core.message import Text
from agentcli.sessions.integrity import check, repair, report_to_json
from agentcli.sessions.session import Session
from agentcli.sessions.storage.records import RecordFolder
from agentcli.sessions.store import Store
from tests.counted import counted
from tests.sessions.bodies import reply, result, user
from tests.sessions.disks import Hasty


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions", disk=Hasty())


@pytest.fixture
def session(store: Store, tmp_path: Path):
    opened = store.create(tmp_path)
    opened.append(user("one"))
    opened.append(reply("looking", "a"))
    opened.append(result("a"))
    yield opened
    opened.close()


def kinds(session: Session) -> list[tuple[str, bool]]:
    return [(problem.kind, problem.notice) for problem in check(session.folder).problems]


def test_a_session_in_order_has_no_problems(session: Session) -> None:
    session.close()
    report = check(session.folder)
    assert (report.ok, report.problems, report.records, report.busy) == (True, (), 3, False)


def test_files_are_not_looked_for_one_by_one(session: Session) -> None:
    with counted(RecordFolder.path) as calls:
        assert check(session.folder).ok
    assert not calls


def test_second_files_of_a_record_and_strangers_among_records_are_named(session: Session) -> None:
    records = session.folder / "records"
    (records / "000002-settings.json").write_bytes(b"{}")
    (records / "notes.txt").write_bytes(b"")
    assert [(problem.seq, problem.message) for problem in check(session.folder).problems] == [
        (2, "record 2 is there twice: 000002-message.json counts, 000002-settings.json does not"),
        (0, "notes.txt is not a record"),
    ]


def test_an_open_session_is_checked_and_not_repaired(session: Session) -> None:
    session.append(reply("running", "b"))
    session.stream(lambda: [Text("so far")])
    report = check(session.folder)
    assert (report.ok, report.busy, report.problems) == (True, True, ())
    with pytest.raises(SessionBusy):
        repair(session.folder)


def test_what_a_crash_left_open_is_a_notice_and_closed_by_a_repair(store: Store, session: Session) -> None:
    session.append(user("two", 2))
    session.stream(lambda: [Text("so far")])
    session.close()
    assert kinds(session) == [("leftover", True)]
    report = repair(session.folder)
    assert report.repaired
    assert kinds(session) == []
    again = store.open(session.info.project_id, session.id, read_only=True)
    assert again.history.entries[-1].body.text == "so far"


def test_calls_and_results_that_do_not_match_are_told(session: Session) -> None:
    session.append(result("a", "a second time"))
    session.append(result("nobody asked"))
    session.append(reply("asks", "b", "c"))
    session.append(result("c"))
    session.append(reply("goes on"))
    session.close()
    messages = [problem.message for problem in check(session.folder).problems]
    assert sum("call b" in message and "no result" in message for message in messages) == 1
    assert sum("nobody asked" in message for message in messages) == 1
    assert sum("second result" in message for message in messages) == 1
    assert len(messages) == 3


def test_outputs_that_belong_to_nothing_or_are_gone_are_told(session: Session) -> None:
    from dataclasses import replace

    path = session.keep_output("b", "whole")
    session.append(reply("more", "b"))
    session.append(replace(result("b"), output_file=path))
    session.keep_output("c", "never named")
    session.close()
    assert kinds(session) == [("orphan", True)]
    Path(path).unlink()
    assert kinds(session) == [("orphan", True), ("orphan", True)]


def test_a_report_is_json(session: Session) -> None:
    session.close()
    (session.folder / "records" / "000002-message.json").write_bytes(b"")
    raw = json.loads(json.dumps(report_to_json(check(session.folder))))
    assert raw["ok"] is False
    assert raw["session"] == session.id
    first = raw["problems"][0]
    assert (first["kind"], first["seq"], first["file"]) == ("damaged", 2, "records/000002-message.json")
    assert first["severity"] == "error"


def test_a_check_changes_nothing(session: Session) -> None:
    session.stream(lambda: [Text("x")])
    session.close()
    (session.folder / "records" / "000002-message.json").write_bytes(b"")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in session.folder.rglob("*.json")}
    check(session.folder)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in session.folder.rglob("*.json")} == before


def test_large_input_and_what_a_background_command_printed_stay_where_they_are(session: Session) -> None:
    large = session.keep_output("input-9", "all of it")
    session.append(user(f"[Large input saved to {large}: 1 lines, 9 bytes.]"))
    session.append(reply("I start it", "job"))
    session.append(result("job", "started in the background"))
    printed = session.keep_output("job", "what it printed until it ended")
    session.close()
    assert check(session.folder).problems == ()
    repair(session.folder)
    assert Path(large).read_text() == "all of it"
    assert Path(printed).exists()


@pytest.fixture
def undoable(store: Store, session: Session, tmp_path: Path) -> Path:
    """The contents for undo that the session keeps, of two files."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("a.py", "b.py"):
        (work / name).write_text(f"{name} as it was\n")
    store.checkpoints(session, [work]).before_command()
    session.close()
    return session.folder / "checkpoints" / "objects"


def damage(contents: Path) -> Path:
    """Zeros in the place of one content, as a power cut leaves them."""
    path = min(contents.glob("??/*"))
    path.write_bytes(b"\0" * path.stat().st_size)
    return path


def test_a_damaged_content_for_undo_is_found_and_set_aside(session: Session, undoable: Path) -> None:
    assert check(session.folder, whole=set()).ok
    path = damage(undoable)
    [problem] = check(session.folder, whole=set()).problems
    assert (problem.kind, problem.file, problem.notice) == (
        "damaged",
        str(path.relative_to(session.folder)),
        False,
    )
    assert not check(session.folder, whole=set()).ok
    assert any("kept in damaged/" in done for done in repair(session.folder).repaired)
    assert check(session.folder, whole=set()).ok
    assert not path.exists()
    assert (session.folder / "damaged" / path.name).exists()


def test_a_repair_takes_a_damaged_content_out_of_the_pool_and_a_whole_one_from_it(
    store: Store, session: Session, undoable: Path, tmp_path: Path
) -> None:
    damaged = damage(undoable)
    pool = session.folder.parent / ".objects"
    shared = pool / damaged.parent.name / damaged.name
    assert shared.samefile(damaged)
    repair(session.folder)
    assert not shared.exists(), "no later session is given it"
    other = store.create(tmp_path)
    other.append(user("one"))
    store.checkpoints(other, [tmp_path / "work"]).before_command()
    other.close()
    own = other.folder / "checkpoints" / "objects" / damaged.parent.name / damaged.name
    whole = own.read_bytes()
    own.unlink()
    own.write_bytes(b"\0" * len(whole))  # its own name only: the file of the pool is another one now
    assert any("replaced" in done for done in repair(other.folder).repaired)
    assert own.read_bytes() == whole


def test_contents_that_sessions_share_are_read_once(session: Session, undoable: Path) -> None:
    whole: set[tuple[int, int]] = set()
    check(session.folder, whole=whole)
    assert len(whole) == 2
    damage(undoable)
    assert check(session.folder, whole=whole).ok, "the file was whole a moment ago"


@pytest.mark.parametrize("kind", ["folder", "link to itself"])
def test_a_record_that_is_no_file_is_set_aside(store: Store, session: Session, kind: str) -> None:
    session.close()
    path = session.folder / "records" / "000002-message.json"
    path.unlink()
    if kind == "folder":
        path.mkdir()
        (path / "inside").write_text("kept")
    else:
        path.symlink_to(path.name)
    assert ("damaged", False) in kinds(session)
    assert any("can't read record 2" in done and "kept in" in done for done in repair(session.folder).repaired)
    assert check(session.folder).ok
    aside = session.folder / "damaged" / path.name
    assert (aside / "inside").read_text() == "kept" if kind == "folder" else aside.is_symlink()
    store.open(session.info.project_id, session.id).close()


@pytest.mark.parametrize("name", ["session.json", "origin.json", "partial.json"])
def test_a_folder_in_the_place_of_a_file_is_set_aside(session: Session, name: str) -> None:
    session.close()
    (session.folder / name).unlink(missing_ok=True)
    (session.folder / name).mkdir()
    assert not check(session.folder).ok
    repair(session.folder)
    assert check(session.folder).ok
    assert (session.folder / "damaged" / name).is_dir()

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.core.record import Undo
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.counted import counted
from tests.sessions.bodies import reply, result, user
from tests.sessions.disks import Hasty


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions", disk=Hasty())


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("a = 1\n")
    return folder


@pytest.fixture
def session(store: Store, code: Path):
    opened = store.create(code)
    opened.append(user("change it"))
    yield opened
    opened.close()


def changes_of(store: Store, session: Session, code: Path) -> Changes:
    return Changes(session, store.checkpoints(session, [code]))


def test_a_prompt_is_rewound_with_its_files_and_both_come_back(store: Store, session: Session, code: Path) -> None:
    changes = changes_of(store, session, code)
    with changes.edits([code / "a.py", code / "b.py"], ["call1"]):
        (code / "a.py").write_text("a = 2\n")
        (code / "b.py").write_text("b = 1\n")
    point = session.append(reply("done")).seq
    session.append(user("and more", 2))
    with changes.command(["call2"]):
        (code / "c.py").write_text("c = 1\n")
    changes.rewind(point)
    rewind = session.append(Undo(point, "rewind"))
    assert sorted(path.name for path in code.iterdir()) == ["a.py", "b.py"]
    assert [entry.body.text for entry in session.history.entries] == ["change it", "done"]
    changes.redo()
    session.append(Undo(rewind.seq, "undo"))
    assert sorted(path.name for path in code.iterdir()) == ["a.py", "b.py", "c.py"]
    assert session.history.entries[-1].body.text == "and more"


def test_changes_are_undone_after_a_resume_and_in_a_fork(store: Store, session: Session, code: Path) -> None:
    with changes_of(store, session, code).edits([code / "a.py"]):
        (code / "a.py").write_text("a = 2\n")
    session.close()
    fork = store.fork(session.info)
    for info in (fork, session.info):
        opened = store.open(info.project_id, info.id)
        changes_of(store, opened, code).undo()
        opened.close()
        assert (code / "a.py").read_text() == "a = 1\n"
        (code / "a.py").write_text("a = 2\n")


def test_with_nothing_to_take_back_it_says_so(store: Store, session: Session, code: Path) -> None:
    changes = changes_of(store, session, code)
    for act in (changes.undo, changes.redo, lambda: changes.rewind(1)):
        with pytest.raises(InputError):
            act()


def test_a_batch_that_fails_is_noted_all_the_same(store: Store, session: Session, code: Path) -> None:
    changes = changes_of(store, session, code)

    def broken_edit() -> None:
        with changes.edits([code / "a.py"]):
            (code / "a.py").write_text("half\n")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken_edit()
    changes.undo()
    assert (code / "a.py").read_text() == "a = 1\n"


def test_a_change_that_a_crash_cut_off_is_recovered_once(store: Store, session: Session, code: Path) -> None:
    store.checkpoints(session, [code]).before_edits([code / "a.py"], ["call1"])
    (code / "a.py").write_text("half\n")
    changes = changes_of(store, session, code)
    changes.recover()
    changes.recover()
    assert [batch.calls for batch in changes.batches()] == [("call1",)]
    changes.undo()
    assert (code / "a.py").read_text() == "a = 1\n"


def test_what_a_crash_cut_off_is_found_without_reading_former_changes(
    store: Store, session: Session, code: Path
) -> None:
    changes = changes_of(store, session, code)
    changes.recover()
    for number in range(5):
        with changes.edits([code / "a.py"]):
            (code / "a.py").write_text(f"a = {number}\n")
    last = session.history.last_seq
    with counted(Session.record) as calls:
        changes.recover()
    assert calls[Session.record] == 1
    assert session.history.last_seq == last


def test_a_session_in_memory_can_undo_too(code: Path, store: Store, tmp_path: Path) -> None:
    from agentcli.sessions.checkpoints.checkpoints import Checkpoints

    changes = Changes(MemorySession(), Checkpoints(tmp_path / "scratch", [code]))
    with changes.edits([code / "a.py"]):
        (code / "a.py").unlink()
    assert changes.undo().uncovered == {}
    assert (code / "a.py").read_text() == "a = 1\n"


def test_files_that_commands_changed_count_in_the_summary_once(store: Store, session: Session, code: Path) -> None:
    changes = changes_of(store, session, code)
    for text in ("a = 2\n", "a = 3\n"):
        with changes.command(["call"]):
            (code / "a.py").write_text(text)
            (code / "b.py").write_text(text)
    session.append(result("edit", additions=1, path=str(code / "a.py")))
    assert (session.info.summary.files, session.info.summary.additions) == (2, 1)
    changes.undo()
    assert session.info.summary.files == 2
    (session.folder / "session.json").unlink()
    assert store.find(session.id).summary == session.info.summary

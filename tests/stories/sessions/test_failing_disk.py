"""Each system call of the write path fails in turn: no traceback, no damage, a visible warning, and it goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import StoreError
from agentcli.core.message import Text
from agentcli.core.record import Undo
from agentcli.sessions.integrity import check
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.system.disk import Disk
from tests.sampling import sampled
from tests.sessions.bodies import files, reply, result, user
from tests.sessions.disks import CALLS, FAULTS, Failing, Hasty, Stingy
from tests.tables import each_row

TEXTS = ["one", "looking", "done", "two"]


def scripted(session: Session) -> list[str]:
    """A short conversation; everything that the user was warned of."""
    warnings = []

    def note() -> None:
        warnings.append(session.trouble())

    session.append(user("one"))
    note()
    session.stream(lambda: [Text("look")])
    session.append(reply("looking", "a"))
    note()
    session.keep_output("a", "all of it")
    note()
    session.append(result("a", "cut"))
    note()
    session.append(reply("done"))
    note()
    session.append(user("two", 2))
    note()
    return [warning for warning in warnings if warning]


def texts(session: Session) -> list[str]:
    return [entry.body.text for entry in session.history.entries if hasattr(entry.body, "text")]


def survives_a_moment(tmp_path: Path, call: str, code: int, nth: int) -> bool:
    """True if there was an nth call at all."""
    home = tmp_path / f"{call}-{code}-{nth}"
    disk = Failing(call, code, nth)
    session = Store(home, disk=disk, interval=0.0).create(tmp_path)
    scripted(session)
    assert texts(session) == TEXTS
    session.close()
    again = Store(home, disk=Hasty()).open(session.info.project_id, session.id)
    assert texts(again) == TEXTS
    assert again.output("outputs/a.txt") == "all of it"
    assert again.notes == ()
    again.close()
    assert check(session.folder).ok
    shutil.rmtree(home)
    return disk.failed > 0


@pytest.mark.full
@each_row("call", CALLS)
def test_any_call_may_fail_once_without_loss(tmp_path: Path, call: str) -> None:
    nth = 1
    while survives_a_moment(tmp_path, call, FAULTS["EIO"], nth):
        nth += 1
    assert nth > 1, "this call was never made"


@pytest.mark.parametrize("name", FAULTS)
@each_row("call", [call for call in CALLS if call not in ("unlink", "close")])
def test_a_disk_that_keeps_failing_is_told_and_harms_nothing_that_was_saved(
    tmp_path: Path, call: str, name: str
) -> None:
    for nth in (1, 5, 9):
        home = tmp_path / f"{nth}"
        disk = Failing(call, FAULTS[name], 10**9)
        session = Store(home, disk=disk, interval=0.0).create(tmp_path)
        session.append(user("zero", 0))
        saved = {path: path.read_bytes() for path in (session.folder / "records").iterdir()}
        disk.calls, disk.nth, disk.forever = 0, nth, True
        warnings = scripted(session)
        assert texts(session) == ["zero", *TEXTS]
        if disk.failed:
            assert warnings
            assert "not being saved" in warnings[-1] or "made again" in warnings[0]
        assert len(set(warnings)) < 3
        assert {path: path.read_bytes() for path in saved} == saved
        disk.heal()
        session.append(reply("healed", turn=2))
        assert session.unsaved == 0
        session.close()
        again = Store(home).open(session.info.project_id, session.id)
        assert texts(again) == ["zero", *TEXTS, "healed"]
        again.close()


def test_trouble_lasts_until_everything_is_saved(tmp_path: Path) -> None:
    disk = Failing("create", FAULTS["ENOSPC"], 1, forever=True)
    session = Store(tmp_path / "s", disk=disk).create(tmp_path)
    session.append(user("one"))
    assert "No space left on device" in session.trouble()
    assert session.trouble() == session.trouble()
    disk.heal()
    session.append(reply("1"))
    assert session.trouble() == ""
    assert files(session.folder) == ["000001-message.json", "000002-message.json"]
    session.close()


def test_a_write_that_had_to_be_made_again_is_told_once(tmp_path: Path) -> None:
    session = Store(tmp_path / "s", disk=Failing("fsync", FAULTS["EIO"], 7)).create(tmp_path)
    troubles = []
    for n in range(3):
        session.append(user(f"{n}"))
        troubles.append(session.trouble())
    assert sorted(troubles)[:2] == ["", ""]
    assert "made again: everything is saved" in max(troubles)
    session.close()


def test_what_the_disk_refused_to_the_end_is_told_after_closing(tmp_path: Path) -> None:
    session = Store(tmp_path / "s", disk=Failing("create", FAULTS["ENOSPC"], 1, forever=True)).create(tmp_path)
    session.append(user("one"))
    session.close()
    session.close()
    assert "No space left" in session.trouble()
    assert session.unsaved == 1
    with pytest.raises(StoreError, match="closed"):
        session.append(user("two"))


def test_undo_works_on_what_only_memory_has(tmp_path: Path) -> None:
    disk = Failing("create", FAULTS["EROFS"], 1, forever=True)
    session = Store(tmp_path / "s", disk=disk).create(tmp_path)
    first = session.append(user("one"))
    session.append(reply("1"))
    session.append(Undo(first.seq, "rewind"))
    assert texts(session) == ["one"]
    session.close()


def test_a_record_that_waits_though_its_file_exists_is_given_once(tmp_path: Path) -> None:
    disk = Failing("", FAULTS["EIO"], 1, forever=True)
    session = Store(tmp_path / "s", disk=disk).create(tmp_path)
    session.append(user("one"))
    disk.call = "open_folder"  # the folder cannot be synced after its files were written
    session.append(reply("1"))
    session.append(user("two", 2))
    assert (len(files(session.folder)), session.unsaved) == (3, 2)
    assert [record.seq for record in session.records_of("message")] == [1, 2, 3]
    assert [record.seq for record in session.records_of("message", newest_first=True)] == [3, 2, 1]
    disk.heal()
    session.close()


def test_a_session_that_cannot_be_saved_at_all_still_talks(tmp_path: Path) -> None:
    root = tmp_path / "not a folder"
    root.write_text("in the way")
    session = Store(root).create(tmp_path)
    warnings = scripted(session)
    assert texts(session) == TEXTS
    assert "not being saved" in warnings[0]
    session.close()


def test_out_of_files_a_session_is_not_opened_with_holes(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    session = store.create(tmp_path)
    scripted(session)
    session.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                files.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(StoreError, match="Too many open files"):
            store.open(session.info.project_id, session.id, read_only=True)
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    again = store.open(session.info.project_id, session.id)
    assert texts(again) == TEXTS
    again.close()


def test_short_writes_are_finished(tmp_path: Path) -> None:
    session = Store(tmp_path / "s", disk=Stingy()).create(tmp_path)
    assert scripted(session) == []
    session.close()
    assert check(session.folder).ok


def test_a_resumed_session_on_a_store_that_became_read_only_goes_on_in_memory(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    session = store.create(tmp_path)
    scripted(session)
    session.close()
    before = {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()}
    disk: Disk = Failing("create", FAULTS["EROFS"], 1, forever=True)
    again = Store(tmp_path / "s", disk=disk).open(session.info.project_id, session.id)
    again.append(reply("three", turn=2))
    assert "Read-only file system" in again.trouble()
    assert texts(again)[-1] == "three"
    again.close()
    lock = session.folder / "lock"
    assert {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file() and path != lock} == {
        path: data for path, data in before.items() if path != lock
    }


CHILD = """
import sys
from pathlib import Path
from agentcli.sessions.store import Store
from tests.stories.sessions.test_failing_disk import scripted, texts
session = Store(Path(sys.argv[1])).create(Path(sys.argv[1]).parent)
warnings = scripted(session)
session.close()
print(session.info.project_id, session.id, len(warnings), "|".join(texts(session)))
"""


REAL = {
    "fsync": ("EIO", "EROFS"),
    "rename": ("ENOSPC",),
    "write": ("EDQUOT",),
    "openat": ("EMFILE",),
    "mkdir": ("EACCES",),
}


@pytest.mark.full
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes real system calls fail")
@pytest.mark.parametrize("call", sampled(REAL, 2))
def test_real_system_calls_may_fail(tmp_path: Path, call: str) -> None:
    there = calls_that_touch(tmp_path / "s", call)
    for nth in {there[len(there) // 3], there[-1]}:
        survives_a_real_fault(tmp_path, call, REAL[call][0], nth)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes real system calls fail")
@each_row(("call", "code"), [(call, code) for call, codes in REAL.items() for code in codes])
def test_every_real_system_call_may_fail(tmp_path: Path, call: str, code: str) -> None:
    for nth in calls_that_touch(tmp_path / "s", call):
        survives_a_real_fault(tmp_path, call, code, nth)


def calls_that_touch(root: Path, call: str) -> list[int]:
    """The calls of one kind (counted from the start of the child) that touch the store."""
    log = root.with_name("log")
    done = traced(root, "-y", "-o", str(log), "-e", f"trace={call}")
    if "ptrace" in done.stderr.lower():
        pytest.skip("this system does not let strace trace")
    calls = [line for line in log.read_text().splitlines() if f"{call}(" in line]
    return [nth for nth, line in enumerate(calls, 1) if str(root) in line]


def survives_a_real_fault(tmp_path: Path, call: str, code: str, nth: int) -> None:
    root = tmp_path / "s"
    done = traced(root, "-o", "/dev/null", "-e", f"inject={call}:error={code}:when={nth}")
    assert done.returncode == 0, done.stderr
    project, session, _, said = done.stdout.strip().split(" ", 3)
    assert said == "|".join(TEXTS)
    again = Store(root).open(project, session)
    assert texts(again) == TEXTS
    again.close()


def traced(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(root, ignore_errors=True)
    command = ["strace", "-f", "-qq", *options, sys.executable, "-B", "-c", CHILD, str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[3])


def test_a_lock_that_is_taken_late_is_let_go_where_the_records_cannot_be_listed(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions", disk=Hasty())
    session = store.create(tmp_path)
    session.append(user("one"))
    session.close()
    lock, records = session.folder / "lock", session.folder / "records"
    lock.unlink()
    lock.mkdir()  # so that the session is opened without its lock
    opened = store.open(session.info.project_id, session.id)
    lock.rmdir()
    records.rename(records.with_name("aside"))
    records.symlink_to(records.name)
    opened.append(user("two", 2))
    assert "symbolic links" in opened.trouble()
    records.unlink()
    records.with_name("aside").rename(records)
    opened.append(user("three", 3))
    assert (opened.trouble(), opened.unsaved) == ("", 0)
    opened.close()
    again = store.open(session.info.project_id, session.id)
    assert texts(again) == ["one", "two", "three"]
    again.close()

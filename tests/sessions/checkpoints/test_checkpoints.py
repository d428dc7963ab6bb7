"""The agent's changes to files can be undone and redone, and nothing of the user's is lost by it."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentcli.core.record import Checkpoint, Record
from agentcli.sessions.checkpoints.checkpoints import Checkpoints, Restored
from agentcli.sessions.checkpoints.file_states import Kind
from agentcli.sessions.checkpoints.undo import Taking, batches, to_redo, to_rewind, to_undo
from agentcli.sessions.settings import CheckpointLimits
from tests.sessions.disks import Hasty

SMALL = CheckpointLimits(file_bytes=1_000, total_bytes=5_000, files=10)


@dataclass
class Work:
    """A workspace in which an agent edits and runs commands."""

    root: Path
    checkpoints: Checkpoints
    records: list[Record] = field(default_factory=list)

    def path(self, name: str) -> Path:
        return self.root / name

    def edit(self, **files: str | None) -> None:
        """A batch of edits; None removes the file."""
        named = {self.path(name.replace("_", ".")): text for name, text in files.items()}
        pending = self.checkpoints.before_edits(named)
        for path, text in named.items():
            path.unlink() if text is None else path.write_text(text)
        self.note(self.checkpoints.after(pending))

    def run(self, command: str) -> None:
        pending = self.checkpoints.before_command()
        subprocess.run(command, shell=True, cwd=self.root, check=True)
        self.note(self.checkpoints.after(pending))

    def note(self, checkpoint: Checkpoint | None) -> None:
        if checkpoint:
            self.records.append(Record(len(self.records) + 1, "", "", "", checkpoint))

    def take_back(self, taking: Taking) -> Restored:
        restored = self.checkpoints.restore(taking.targets, taking.batches)
        self.note(restored.record)
        return restored

    def undo(self) -> Restored:
        return self.take_back(to_undo(batches(self.records)))

    def redo(self) -> Restored:
        return self.take_back(to_redo(batches(self.records)))

    def rewind(self, seq: int) -> Restored:
        return self.take_back(to_rewind(batches(self.records), seq))

    def files(self) -> dict[str, str]:
        found = (path for path in sorted(self.root.rglob("*")) if path.is_file() and ".git" not in path.parts)
        return {str(path.relative_to(self.root)): path.read_text() for path in found}


@pytest.fixture
def work(tmp_path: Path) -> Work:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("a = 1\n")
    (root / "b.py").write_text("b = 1\n")
    return Work(root, Checkpoints(tmp_path / "session" / "checkpoints", [root]))


def test_the_last_batch_of_edits_is_undone_and_redone(work: Work) -> None:
    start = work.files()
    work.edit(a_py="a = 2\n", new_py="new\n", b_py=None)
    changed = work.files()
    assert changed == {"a.py": "a = 2\n", "new.py": "new\n"}
    assert len(work.undo().changed) == 3
    assert work.files() == start
    assert len(work.redo().changed) == 3
    assert work.files() == changed
    work.undo()
    assert work.files() == start


def test_undo_goes_back_batch_by_batch_and_redo_forward(work: Work) -> None:
    states = [work.files()]
    for n in range(2, 5):
        work.edit(a_py=f"a = {n}\n")
        states.append(work.files())
    for state in reversed(states[:-1]):
        work.undo()
        assert work.files() == state
    assert work.undo().changed == ()
    for state in states[1:]:
        work.redo()
        assert work.files() == state
    assert work.redo().changed == ()


def test_after_a_new_edit_there_is_nothing_to_redo(work: Work) -> None:
    work.edit(a_py="a = 2\n")
    work.undo()
    work.edit(b_py="b = 2\n")
    assert work.redo().changed == ()
    work.undo()
    assert work.files() == {"a.py": "a = 1\n", "b.py": "b = 1\n"}


def test_files_are_rewound_to_any_earlier_point_and_back(work: Work) -> None:
    work.edit(a_py="a = 2\n")
    point, there = len(work.records), work.files()
    work.edit(a_py="a = 3\n", c_py="c\n")
    work.run("rm b.py; mkdir deep; echo x > deep/d.py; echo more >> c.py")
    end = work.files()
    work.rewind(point)
    assert work.files() == there
    work.redo()
    assert work.files() == end
    work.rewind(0)
    assert work.files() == {"a.py": "a = 1\n", "b.py": "b = 1\n"}


def test_what_a_command_did_is_undone(work: Work) -> None:
    work.path("run.sh").write_text("#!/bin/sh\n")
    work.path("run.sh").chmod(0o755)
    start = work.files()
    work.run("sed -i s/1/2/ a.py; mv b.py c.py; chmod 644 run.sh; touch made")
    work.undo()
    assert work.files() == start
    assert stat.S_IMODE(work.path("run.sh").stat().st_mode) == 0o755


def test_a_command_that_changes_nothing_leaves_no_record(work: Work) -> None:
    work.path("huge").write_bytes(b"x" * 6_000_000)
    work.run("true")
    assert work.records == []
    assert work.checkpoints.recover(()) is None


def test_a_file_that_the_user_changed_since_is_left_alone(work: Work) -> None:
    work.edit(a_py="a = 2\n", b_py="b = 2\n")
    work.path("a.py").write_text("mine\n")
    restored = work.undo()
    assert restored.skipped == {work.path("a.py"): "was changed since by another program"}
    assert work.files() == {"a.py": "mine\n", "b.py": "b = 1\n"}


def test_a_file_that_the_agent_did_not_make_is_never_deleted(work: Work) -> None:
    pending = work.checkpoints.before_edits([work.path("denied.py")])
    work.note(work.checkpoints.after(pending))
    work.path("denied.py").write_text("the user's own\n")
    work.undo()
    work.rewind(0)
    assert work.path("denied.py").read_text() == "the user's own\n"


def test_a_file_that_merely_came_into_sight_is_never_deleted(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "secret.txt").write_text("the user's own\n")
    (root / ".gitignore").write_text("secret.txt\n")

    def listing(base: Path, most: int) -> list[tuple[str, Kind]]:
        ignored = (base / ".gitignore").read_text().split()
        return [(path.name, "file") for path in base.iterdir() if path.name not in ignored]

    work = Work(root, Checkpoints(tmp_path / "c", [root], listing=listing))
    work.run("echo > .gitignore; echo changed >> secret.txt; echo new > made.txt")
    work.undo()
    assert (root / "secret.txt").exists()
    assert (root / ".gitignore").read_text() == "secret.txt\n"


def test_a_cache_with_its_own_gitignore_is_covered_and_one_in_a_folder_that_was_there_is_not_trusted(
    work: Work,
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=work.root, check=True)
    work.run("mkdir -p .cache_x/v && echo '*' > .cache_x/.gitignore && echo 1 > .cache_x/v/ids")
    (batch,) = batches(work.records)
    assert not batch.uncovered
    work.undo()
    assert not work.path(".cache_x").exists()
    work.path("src").mkdir()
    work.path("src/b.py").write_text("b = 1\n")
    work.run("echo '!*.log' > src/.gitignore && echo 1 > src/new.log")
    assert "may have been there before" in str(batches(work.records)[-1].uncovered)


@pytest.mark.parametrize("looked", [True, False])
def test_nothing_that_was_there_is_deleted_in_a_folder_that_joins_during_a_command(
    tmp_path: Path, looked: bool
) -> None:
    root, other = tmp_path / "work", tmp_path / "other"
    added = list[Path]()
    for folder in (root, other):
        folder.mkdir()
    for name in ("old.txt", "still.txt"):
        (other / name).write_text("old\n")
        os.utime(other / name, (1, 1))
    time.sleep(0.02)  # the kernel's file times advance in steps
    work = Work(root, Checkpoints(tmp_path / "c", [root], added=lambda: added))
    pending = work.checkpoints.before_command()
    added.append(other)
    if looked:
        work.checkpoints.before_rerun()
    (other / "old.txt").write_text("changed\n")
    (other / "new.txt").write_text("new\n")
    (root / "a.py").write_text("a\n")
    work.note(work.checkpoints.after(pending))
    work.undo()
    left = {path.name: path.read_text() for path in other.iterdir()}
    unchanged = {"old.txt": "old\n", "still.txt": "old\n"}
    assert left == (unchanged if looked else {**unchanged, "old.txt": "changed\n", "new.txt": "new\n"})
    assert not (root / "a.py").exists()
    named = {path.name for path in map(Path, batches(work.records)[0].uncovered)}
    assert named == (set() if looked else {"old.txt", "new.txt"})


def test_what_lies_beyond_the_limits_is_said_and_never_deleted(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for n in range(15):
        (root / f"{n:02d}.txt").write_text("x")
    work = Work(root, Checkpoints(tmp_path / "c", [root], limits=SMALL))
    work.run("rm 00.txt; echo changed > 12.txt")
    (batch,) = batches(work.records)
    assert "too large to be covered whole" in batch.uncovered[str(root)]
    work.undo()
    assert sorted(path.name for path in root.iterdir()) == [f"{n:02d}.txt" for n in range(15)]


def test_huge_files_and_a_full_store_are_told_only_when_they_changed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "huge").write_bytes(b"h" * 2_000)
    work = Work(root, Checkpoints(tmp_path / "c", [root], limits=SMALL))
    work.run("echo > small")
    assert batches(work.records)[0].uncovered == {}
    work.run("echo >> huge")
    assert batches(work.records)[1].uncovered == {str(root / "huge"): "is larger than 1,000 bytes"}
    for n in range(8):
        (root / f"{n}").write_bytes(os.urandom(900))
    work.run("for n in 0 1 2 3 4 5 6 7; do echo >> $n; done")
    reasons = set(batches(work.records)[2].uncovered.values())
    assert reasons == {"the checkpoints of this session take 5,000 bytes already"}


def test_a_link_out_of_the_workspace_is_not_followed(work: Work, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("not yours\n")
    (work.root / "deep").mkdir()
    work.path("deep/a.py").write_text("1")
    work.run("echo 2 > deep/a.py")
    work.path("deep/a.py").unlink()
    work.path("deep").rmdir()
    work.path("deep").symlink_to(outside)
    restored = work.undo()
    assert restored.skipped == {work.path("deep/a.py"): "lies outside of the workspace"}
    assert (outside / "a.py").read_text() == "not yours\n"


def test_the_user_s_repository_is_never_touched(work: Work) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run([*git, *command], cwd=work.root, check=True)

    def repository() -> dict[Path, tuple[int, bytes]]:
        paths = [path for path in (work.root / ".git").rglob("*") if path.is_file()]
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}

    before = repository()
    work.edit(a_py="a = 2\n")
    work.run("echo x > made; rm b.py")
    work.undo()
    work.rewind(0)
    work.redo()
    assert repository() == before


def test_a_lost_content_is_said_and_nothing_else_put_in_its_place(work: Work, tmp_path: Path) -> None:
    work.edit(a_py="a = 2\n")
    for path in (tmp_path / "session" / "checkpoints" / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0\0")
    assert work.undo().skipped == {work.path("a.py"): "its former content is lost"}
    assert work.path("a.py").read_text() == "a = 2\n"


@pytest.mark.parametrize("cause", ["edits", "command"])
def test_a_change_cut_off_by_a_crash_can_still_be_undone(work: Work, tmp_path: Path, cause: str) -> None:
    if cause == "edits":
        work.checkpoints.before_edits([work.path("a.py"), work.path("new.py")])
    else:
        work.checkpoints.before_command()
    work.path("a.py").write_text("half done\n")
    work.path("new.py").write_text("half done\n")
    work.checkpoints = Checkpoints(tmp_path / "session" / "checkpoints", [work.root])
    work.note(work.checkpoints.recover(()))
    assert work.checkpoints.recover([batch.id for batch in batches(work.records)]) is None
    work.undo()
    assert work.files() == {"a.py": "a = 1\n", "b.py": "b = 1\n"}


def test_sessions_of_a_project_share_what_is_equal(work: Work, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    files = []
    for name in ("one", "two"):
        checkpoints = Checkpoints(tmp_path / name, [work.root], pool=pool)
        checkpoints.before_command()
        files.append(sorted(path for path in (tmp_path / name / "objects").rglob("*") if path.is_file()))
    assert len(files[0]) == 2
    assert all(one.samefile(two) for one, two in zip(*files, strict=True))


def shape(root: Path) -> dict[str, str]:
    """Everything beneath a folder: what a file holds, where a link leads, and which folders there are."""
    found = {str(path.relative_to(root)): path for path in sorted(root.rglob("*"))}
    return {
        name: f"-> {os.readlink(path)}" if path.is_symlink() else "/" if path.is_dir() else path.read_text()
        for name, path in found.items()
    }


@pytest.mark.parametrize(
    "command",
    [
        "ln -sfn b.py link",
        "rm link; ln -s nowhere dangling",
        "rm link; echo file > link",
        "rm a.py; ln -s b.py a.py",
        "rm -r full; ln -s empty full",
        "mv full elsewhere; ln -s elsewhere full",
        "rmdir empty; mkdir -p new/inner; echo x > new/inner/x.py",
        "rm -r full empty",
        "mv full renamed",
        "rm -r full; echo file > full",
        "rm a.py; mkdir a.py; echo x > a.py/x",
        "chmod 700 full; chmod +x full/c.py",
        "ln -sfn / full/up",
    ],
)
def test_links_and_folders_go_back_too_and_come_again(work: Work, command: str) -> None:
    (work.root / "link").symlink_to("a.py")
    (work.root / "empty").mkdir()
    (work.root / "full" / "deep").mkdir(parents=True)
    work.path("full/c.py").write_text("c = 1\n")
    work.path("full/deep/d.py").write_text("d = 1\n")
    before, mode = shape(work.root), work.path("full").stat().st_mode
    work.run(command)
    after = shape(work.root)
    restored = work.undo()
    assert (shape(work.root), restored.skipped) == (before, {})
    assert work.path("full").stat().st_mode == mode
    restored = work.redo()
    assert (shape(work.root), restored.skipped) == (after, {})


def test_a_folder_that_the_agent_made_stays_while_somebody_else_s_file_is_in_it(work: Work) -> None:
    work.run("mkdir made; echo x > made/x")
    work.path("made/mine").write_text("the user's own\n")
    assert work.undo().skipped == {work.path("made"): "is not empty"}
    assert shape(work.root / "made") == {"mine": "the user's own\n"}


def test_folders_that_were_made_for_an_edit_go_with_it(work: Work) -> None:
    before = shape(work.root)
    pending = work.checkpoints.before_edits([work.path("new/inner/x.py")])
    work.path("new/inner").mkdir(parents=True)
    work.path("new/inner/x.py").write_text("x = 1\n")
    work.note(work.checkpoints.after(pending))
    work.undo()
    assert shape(work.root) == before
    work.redo()
    assert work.path("new/inner/x.py").read_text() == "x = 1\n"


def test_a_link_that_the_user_turned_elsewhere_is_left_alone(work: Work) -> None:
    (work.root / "link").symlink_to("a.py")
    work.run("ln -sfn b.py link")
    work.run("true")
    work.path("link").unlink()
    work.path("link").symlink_to("mine")
    assert work.undo().skipped == {work.path("link"): "was changed since by another program"}
    assert os.readlink(work.path("link")) == "mine"


def contents(folder: Path) -> list[Path]:
    """The files of contents beneath a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "pending.json")


def test_a_damaged_content_of_another_session_spoils_no_undo(work: Work, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    Checkpoints(tmp_path / "one", [work.root], pool=pool).before_command()
    for path in contents(pool):  # a power cut has left zeros where the contents were not on the medium yet
        path.write_bytes(b"\0" * path.stat().st_size)
    work.checkpoints = Checkpoints(tmp_path / "session" / "checkpoints", [work.root], pool=pool)
    work.edit(a_py="a = 2\n", b_py="b = 2\n")
    assert not work.undo().skipped
    assert work.files() == {"a.py": "a = 1\n", "b.py": "b = 1\n"}
    three = Checkpoints(tmp_path / "three", [work.root], pool=pool)
    three.before_command()
    shared = {path.stat().st_ino for path in contents(pool)}
    assert {path.stat().st_ino for path in contents(tmp_path / "three")} <= shared, "the pool is whole again"


def test_a_content_of_its_own_that_was_damaged_is_kept_again(work: Work, tmp_path: Path) -> None:
    folder = tmp_path / "session" / "checkpoints"
    work.checkpoints.before_command()
    for path in contents(folder):
        path.write_bytes(b"\0" * path.stat().st_size)
    work.checkpoints = Checkpoints(folder, [work.root])
    work.run("echo changed > a.py")
    assert not work.undo().skipped
    assert work.files() == {"a.py": "a = 1\n", "b.py": "b = 1\n"}


def test_a_content_that_this_session_has_lost_is_taken_from_the_pool(work: Work, tmp_path: Path) -> None:
    folder, pool = tmp_path / "session" / "checkpoints", tmp_path / "pool"
    Checkpoints(tmp_path / "one", [work.root], pool=pool).before_command()
    work.checkpoints = Checkpoints(folder, [work.root], pool=pool)
    work.edit(a_py="a = 2\n")
    for path in contents(folder):
        path.unlink()
    assert not work.undo().skipped
    assert work.files()["a.py"] == "a = 1\n"


class Synced(Hasty):
    """Notes the files that were synced."""

    def __init__(self) -> None:
        self.inodes: set[int] = set()

    def fsync(self, file: int) -> None:
        self.inodes.add(os.fstat(file).st_ino)


@pytest.mark.parametrize("age", [0, 3_600], ids=["just written", "an hour old"])
def test_what_an_edit_replaces_lies_on_the_medium_whoever_kept_it_before(work: Work, tmp_path: Path, age: int) -> None:
    pool, disk = tmp_path / "pool", Synced()
    written = time.time() - age
    os.utime(work.path("a.py"), (written, written))
    Checkpoints(tmp_path / "one", [work.root], pool=pool).before_command()
    edits = Checkpoints(tmp_path / "two", [work.root], pool=pool, disk=disk)
    edits.before_command()
    assert not disk.inodes & {path.stat().st_ino for path in contents(pool)}, "a command's contents may wait"
    edits.before_edits([work.path("a.py")])
    [kept] = [path for path in contents(tmp_path / "two") if path.read_text() == "a = 1\n"]
    assert {kept.stat().st_ino, kept.parent.stat().st_ino, kept.parent.parent.stat().st_ino} <= disk.inodes


@pytest.mark.parametrize("name", ["n" * 245, "n" * 255, "\N{GRINNING FACE}" * 63, "é" * 127])
def test_files_with_the_longest_names_are_undone(work: Work, name: str) -> None:
    path = work.path(name)
    path.write_text("before\n")
    pending = work.checkpoints.before_edits([path])
    path.write_text("after\n")
    work.note(work.checkpoints.after(pending))
    assert not work.undo().skipped
    assert path.read_text() == "before\n"
    path.unlink()
    path.symlink_to("a.py")
    work.run(f"rm '{name}'")
    assert not work.undo().skipped
    assert path.is_symlink()

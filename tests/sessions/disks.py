"""Disks that fail on cue, and one that remembers every call so that power cuts can be played back."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from agentcli.system.disk import Disk

CALLS = ("create", "write", "fsync", "close", "rename", "unlink", "mkdir", "open_folder")
FAULTS = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "EACCES")}


class Hasty(Disk):
    """Waits for no medium: for tests that do not cut the power."""

    def fsync(self, file: int) -> None:
        pass


class Failing(Hasty):
    """Fails the `nth` call of one kind (and all that follow, if `forever`) as the system would; `heal` ends it."""

    def __init__(self, call: str, code: int, nth: int, forever: bool = False) -> None:
        self.call, self.code, self.nth, self.forever = call, code, nth, forever
        self.calls = self.failed = 0

    def heal(self) -> None:
        self.call = ""

    def _pass(self, call: str) -> None:
        if call != self.call:
            return
        self.calls += 1
        if self.calls == self.nth or (self.forever and self.calls > self.nth):
            self.failed += 1
            raise OSError(self.code, os.strerror(self.code))

    def create(self, path: str | Path) -> int:
        self._pass("create")
        return super().create(path)

    def write(self, file: int, data: memoryview) -> int:
        self._pass("write")
        return super().write(file, data)

    def fsync(self, file: int) -> None:
        self._pass("fsync")

    def close(self, file: int) -> None:
        super().close(file)  # Linux closes the file whatever close says
        self._pass("close")

    def rename(self, old: Path, new: Path) -> None:
        self._pass("rename")
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        self._pass("unlink")
        super().unlink(path)

    def mkdir(self, path: Path) -> None:
        self._pass("mkdir")
        super().mkdir(path)

    def open_folder(self, path: Path) -> int:
        self._pass("open_folder")
        return super().open_folder(path)


class Stingy(Hasty):
    """Takes at most seven bytes at a time."""

    def write(self, file: int, data: memoryview) -> int:
        return super().write(file, data[:7])


@dataclass
class File:
    """The content written to a file, and how much of it was synced."""

    data: bytes = b""
    synced: int = 0


@dataclass
class Act:
    """A change to a folder: it lasts for certain once the folder was synced after it."""

    what: str
    path: Path
    to: Path | None = None
    file: File | None = None
    lasts: bool = False


@dataclass
class Recording(Hasty):
    """Does everything and remembers it, in order."""

    acts: list[Act | tuple[File, bytes] | File | Path] = field(default_factory=list)
    _open: dict[int, File | Path] = field(default_factory=dict)

    def create(self, path: str | Path) -> int:
        number = super().create(path)
        self._open[number] = File()
        self.acts.append(Act("create", Path(path), file=self._open[number]))
        return number

    def write(self, file: int, data: memoryview) -> int:
        count = super().write(file, data)
        self.acts.append((self._open[file], bytes(data[:count])))
        return count

    def fsync(self, file: int) -> None:
        self.acts.append(self._open[file])

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self.acts.append(Act("rename", old, new))

    def link(self, old: str | Path, new: str | Path, folders: tuple[int | None, int | None] = (None, None)) -> None:
        super().link(old, new, folders)
        here, there = (Path() if folder is None else self._open[folder] for folder in folders)
        assert isinstance(here, Path)
        assert isinstance(there, Path)
        self.acts.append(Act("link", there / new, here / old))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.acts.append(Act("unlink", path))

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        self.acts.append(Act("mkdir", path))

    def open_folder(self, path: Path) -> int:
        number = super().open_folder(path)
        self._open[number] = path
        return number


def after_power_cut(disk: Recording, calls: int, root: Path, target: Path, dice: random.Random, luck: float) -> None:
    """Build in `target` what may be found of `root` when the power goes after so many calls.

    What was synced is there. Each other change of a folder is there with probability `luck`, and an unsynced file holds all,
    some, none or zeros of what was written.
    """
    acts = _settled(disk.acts[:calls])
    names: dict[Path, File | None] = {root: None}
    for act in acts:
        if not (act.lasts or dice.random() < luck) or act.path.parent not in names:
            continue
        match act.what:
            case "create":
                names[act.path] = act.file
            case "mkdir":
                names[act.path] = None
            case "unlink":
                names.pop(act.path, None)
            case "rename":
                assert act.to is not None
                for path in [path for path in names if act.path in (path, *path.parents)]:
                    names[act.to / path.relative_to(act.path)] = names.pop(path)
            case "link":
                assert act.to is not None
                if act.to in names:
                    names[act.path] = names[act.to]
    target.mkdir()
    for path, file in names.items():
        there = target / path.relative_to(root)
        if file is None:
            there.mkdir(exist_ok=True)
        else:
            there.write_bytes(_content(file, dice))


def _settled(acts: list[Act | tuple[File, bytes] | File | Path]) -> list[Act]:
    """The changes of folders, fresh, each knowing whether it lasts; files know how much of them was synced by then."""
    files: dict[int, File] = {}
    changes: list[Act] = []
    for act in acts:
        match act:
            case Act(what, path, to, file):
                if file is not None:
                    files[id(file)] = File()
                changes.append(Act(what, path, to, files.get(id(file))))
            case (File() as file, bytes() as data):
                files[id(file)].data += data
            case File() as file:
                files[id(file)].synced = len(files[id(file)].data)
            case Path() as folder:
                for change in changes:
                    change.lasts = change.lasts or change.path.parent == folder
    return changes


def _content(file: File, dice: random.Random) -> bytes:
    loose = file.data[file.synced :]
    sure = file.data[: file.synced]
    if not loose:
        return sure
    return sure + dice.choice([loose, b"", b"\0" * len(loose), loose[: dice.randrange(len(loose) + 1)]])

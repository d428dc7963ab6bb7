"""States of files: of a few before an edit, or of a whole workspace before a command."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.sessions.checkpoints.objects import Objects
from agentcli.sessions.settings import SKIPPED, CheckpointLimits
from agentcli.system.disk import reason

_FRESH = 50_000_000  # nanoseconds: a file this new may be written again without a change of its time


LIMITS = CheckpointLimits()


@dataclass(frozen=True, slots=True)
class State:
    """A regular file: its content by hash, and its mode bits.

    Or a symbolic link to `link`, or a folder, without contents.
    """

    sha256: str
    mode: int
    link: str = ""

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return not self.sha256 and not self.link


Mark = tuple[int, ...]
"""A fingerprint of a file's metadata: it changes when the file does."""
States = Mapping[Path, State | None]
"""The state at each path; None if there was nothing."""


@dataclass(frozen=True, slots=True)
class FileStates:
    """States of files at one moment."""

    states: States
    uncovered: Mapping[Path, str]
    """Paths whose state could not be stored, each with the reason."""
    marks: Mapping[Path, Mark]
    """For each of these paths, an entry that shows whether it changed."""
    skipped: tuple[Path, ...] = ()
    """Folders that were not read."""


@dataclasses.dataclass
class StateReader:
    """Reader of file states that stores the contents; it opens a file again only if it has changed."""

    objects: Objects
    limits: CheckpointLimits = LIMITS
    _known: dict[str, tuple[Mark, Path, State]] = field(default_factory=dict)

    def read(self, paths: Iterable[Path], durable: bool = False) -> FileStates:
        """Return the states of these paths."""
        states: dict[Path, State | None] = {}
        uncovered: dict[Path, str] = {}
        for path in paths:
            self._look_at(str(path), states, uncovered, durable)
        return FileStates(states, uncovered, {path: _mark_at(path) for path in uncovered})

    def read_all(self, roots: Iterable[Path], listing: Listing) -> FileStates:
        """Return the states of all files that the listing names, up to the limits."""
        states: dict[Path, State | None] = {}
        uncovered: dict[Path, str] = {}
        skipped: list[Path] = []
        until = time.monotonic() + self.limits.seconds
        for root in roots:
            for name, kind in listing(root, self.limits.ignored_files):
                if len(states) >= self.limits.files or time.monotonic() > until:
                    uncovered[root] = f"too large to be covered whole: {len(states):,} files were"
                    break
                match kind:
                    case "skipped":
                        skipped.append(root / name)
                    case "large":
                        uncovered[root / name] = "is ignored by git and has too many files"
                    case _:
                        most = self.limits.ignored_bytes if kind == "ignored" else self.limits.file_bytes
                        self._look_at(os.path.join(root, name), states, uncovered, False, most)
        there = {path: state for path, state in states.items() if state is not None}
        marks = {path: () if path in roots else _mark_at(path) for path in uncovered}
        return FileStates(there, uncovered, marks, tuple(skipped))

    def _look_at(
        self,
        name: str,
        states: dict[Path, State | None],
        uncovered: dict[Path, str],
        durable: bool,
        most: int | None = None,
    ) -> None:
        try:
            status = os.lstat(name)
            known = self._known.get(name)
            # Content read by a scan may not be on disk yet: an edit reads it again and stores it durably.
            if known and known[0] == _mark(status) and not (durable and known[2].sha256):
                states[known[1]] = known[2]
                return
            path = Path(name)
            states[path] = self._state(path, status, durable, self.limits.file_bytes if most is None else most)
        except (FileNotFoundError, NotADirectoryError):
            states[Path(name)] = None
        except _NotCovered as why:
            uncovered[Path(name)] = str(why)
        except OSError as error:
            uncovered[Path(name)] = reason(error)

    def _state(self, path: Path, status: os.stat_result, durable: bool, most: int) -> State:
        if stat.S_ISLNK(status.st_mode):
            state = State("", 0, os.readlink(path))
        elif stat.S_ISDIR(status.st_mode):
            state = State("", stat.S_IMODE(status.st_mode))
        else:
            state = self._file(path, status, durable, most)
        if status.st_mtime_ns < time.time_ns() - _FRESH:
            self._known[str(path)] = (_mark(status), path, state)
        return state

    def _file(self, path: Path, status: os.stat_result, durable: bool, most: int) -> State:
        if not stat.S_ISREG(status.st_mode):
            raise _NotCovered("is neither a file, a link nor a folder")
        if status.st_size > most:
            raise _NotCovered(f"is larger than {most:,} bytes")
        if self.objects.size + status.st_size > self.limits.total_bytes:
            raise _NotCovered(f"the checkpoints of this session take {self.limits.total_bytes:,} bytes already")
        return State(self.objects.keep(_content(path), durable), stat.S_IMODE(status.st_mode))


Kind = Literal["file", "ignored", "folder", "skipped", "large"]
Listing = Callable[[Path, int], Iterable[tuple[str, Kind]]]
"""A function that lists a folder, as relative paths.

`large` are ignored folders with more than so many entries; their files are not listed.
"""


def plain_listing(root: Path, most: int = 0) -> Iterator[tuple[str, Kind]]:
    """List all files outside folders that a command can rebuild; the default without a reader of .gitignore."""
    base = os.path.join(root, "")
    for folder, folders, names in os.walk(base):
        inside = os.path.join(folder, "")[len(base) :]
        for name in sorted(folders):
            yield inside + name, "skipped" if name in SKIPPED else "folder"
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            yield inside + name, "file"


def _mark(status: os.stat_result) -> Mark:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode


def _mark_at(path: Path) -> Mark:
    try:
        return _mark(path.lstat())
    except OSError:
        return ()


class _NotCovered(Exception):
    """The reason why a rule leaves a file out."""


def _content(path: Path) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as opened:
        return opened.read()


def states_from_json(raw: Any) -> dict[Path, State | None]:
    """Return the states in a checkpoint record; unknown entries are left out."""
    states: dict[Path, State | None] = {}
    for path, state in dict(raw or {}).items():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            states[Path(path)] = None if state is None else _state_from_json(state)
    return states


def _state_from_json(state: Any) -> State:
    if "link" in state:
        return State("", 0, str(state["link"]))
    return State("", int(state["folder"])) if "folder" in state else State(str(state["sha256"]), int(state["mode"]))


def states_to_json(states: States) -> dict[str, Any]:
    """Return states as a checkpoint record has them."""
    return {str(path): None if state is None else _state_to_json(state) for path, state in states.items()}


def _state_to_json(state: State) -> dict[str, Any]:
    if state.link:
        return {"link": state.link}
    return {"folder": state.mode} if state.is_folder else {"sha256": state.sha256, "mode": state.mode}

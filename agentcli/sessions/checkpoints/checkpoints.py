"""File states for `/undo`, `/redo` and `/rewind`: taken before the agent changes anything, and restored on demand."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass
from agentcli.core.record import Checkpoint
from agentcli.sessions.checkpoints.file_states import (
    LIMITS,
    FileStates,
    Listing,
    State,
    StateReader,
    States,
    plain_listing,
    states_from_json,
    states_to_json,
)
from agentcli.sessions.checkpoints.objects import Objects
from agentcli.sessions.info import PENDING, new_id
from agentcli.sessions.settings import INSTALLED, CheckpointLimits
from agentcli.system.disk import DISK, Disk, make_folder, reason, temporary_name, write_file

Cause = Literal["edits", "command", "restore"]


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that is about to happen, with the states before it; `started` is in nanoseconds since the epoch."""

    id: str
    cause: Cause
    calls: tuple[str, ...]
    before: FileStates
    started: int


@dataclass(frozen=True, slots=True)
class Target:
    """The state to which a file, link or folder is restored."""

    path: Path
    wanted: State | None
    """The state to restore; if None, the file is removed, but only if `created` is true."""
    left: State | None = None
    """The state in which the agent left it; restoring is safe only in that state."""
    created: bool = False
    """True if the agent made it."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of a restore. Append `record`, which `/redo` needs. `skipped` maps a path that was not restored to the
    reason.

    `uncovered` maps files that may have changed, but cannot be restored, to the reason.
    """

    changed: tuple[Path, ...]
    skipped: Mapping[Path, str]
    record: Checkpoint
    uncovered: Mapping[str, str] = field(default_factory=dict)


class Checkpoints:
    """States of files under `roots`, stored in `folder` (a session's `checkpoints/`). Never touches a repository.

    `listing` lists the files worth covering that a command may change; sessions of a project share `pool`. `objection`
    returns why a file must not be restored, or an empty text. `added` returns the folders that have joined the roots.
    """

    def __init__(
        self,
        folder: Path,
        roots: Sequence[Path],
        *,
        added: Callable[[], Sequence[Path]] = tuple,
        listing: Listing = plain_listing,
        limits: CheckpointLimits = LIMITS,
        objection: Callable[[Path], str] = lambda _: "",
        pool: Path | None = None,
        disk: Disk = DISK,
    ) -> None:
        self._first_roots, self._added = tuple(Path(os.path.realpath(root)) for root in roots), added
        self._folder, self._listing, self._disk = folder, listing, disk
        self._forbids = objection
        self._objects = Objects(folder / "objects", disk, pool)
        self._reader = StateReader(self._objects, limits)
        self._known_roots = self._first_roots
        self._joined: list[FileStates] = []
        """States of folders that joined the roots during the command, before it could write there."""

    @property
    def _roots(self) -> tuple[Path, ...]:
        return (*self._first_roots, *self._added())

    def before_edits(self, paths: Iterable[Path], calls: Sequence[str] = ()) -> Pending:
        """Take the states of files before they are edited or created, and of folders to be created for them."""
        plain = {_plain(path): None for path in paths}
        folders = {folder: None for path in plain for folder in self._missing(path)}
        found = self._reader.read({**folders, **plain}, durable=True)
        return self._pending("edits", calls, found)

    def before_command(self, calls: Sequence[str] = ()) -> Pending:
        """Take the state of the workspace before a command that may write anywhere in it."""
        self._known_roots, self._joined = self._roots, []
        return self._pending("command", calls, self._reader.read_all(self._known_roots, self._listing))

    def before_rerun(self) -> None:
        """Take the state of the folders that have joined the roots, before a command runs again and may write there."""
        new = [root for root in self._roots if root not in self._known_roots]
        if new:
            self._joined.append(self._reader.read_all(new, self._listing))
            self._known_roots = (*self._known_roots, *new)

    def after(self, pending: Pending) -> Checkpoint | None:
        """Return the record of the change, to append to the session; None if nothing changed."""
        edits = pending.cause == "edits"
        pending = pending if edits else replace(pending, before=_merged((pending.before, *self._joined)))
        now = self._reader.read(pending.before.states) if edits else self._states_after(pending)
        before, after = _differences(pending.before, now)
        uncovered = _changed_unseen(pending.before, now)
        if not before and not uncovered:
            with contextlib.suppress(OSError):
                self._disk.unlink(self._folder / PENDING)
            return None
        if before:
            uncovered |= {root: why for root, why in now.uncovered.items() if root in self._roots}
        data = {
            "id": pending.id,
            "cause": pending.cause,
            "calls": list(pending.calls),
            "before": states_to_json(before),
            "after": states_to_json(after),
            "uncovered": {str(path): why for path, why in uncovered.items()},
        }
        installed = [str(path) for path in now.skipped if path.name in INSTALLED]
        return Checkpoint(data | ({"skipped": installed} if installed else {}))

    def recover(self, recorded: Iterable[str]) -> Checkpoint | None:
        """Return the record of a change whose process died before writing it; the caller appends it.

        `recorded` are the ids of known batches.
        """
        pending = _read_pending(self._folder / PENDING)
        return None if pending is None or pending.id in recorded else self.after(pending)

    def restore(self, targets: Sequence[Target], undoes: Sequence[str]) -> Restored:
        """Restore files. Files that someone else changed since are left alone.

        Removes only files that the agent made. Writes nothing outside the roots.
        """
        now = self._reader.read([target.path for target in targets], durable=True)
        links = _links(now.states)
        # A path through a link that replaced a folder leads to another file.
        states = {path: state if links.isdisjoint(path.parents) else None for path, state in now.states.items()}
        now = replace(now, states=states)
        skipped: dict[Path, str] = {}
        changed: list[Path] = []
        for target in sorted(targets, key=_turn):
            try:
                through = any(map(os.path.islink, links.intersection(target.path.parents)))
                why = "lies behind a link that was left alone" if through and target.wanted else ""
                why = why or self._objection(target, now) or self._put_back(target, now.states[target.path])
            except OSError as error:
                why = reason(error)
            if why:
                skipped[target.path] = why
            elif now.states[target.path] != target.wanted:
                changed.append(target.path)
        data = {
            "id": new_id(),
            "cause": "restore",
            "undoes": list(undoes),
            "before": states_to_json({path: now.states[path] for path in changed}),
            "after": states_to_json({each.path: each.wanted for each in targets if each.path in changed}),
        }
        return Restored(tuple(changed), skipped, Checkpoint(data))

    def content(self, state: State | None) -> bytes | None:
        """Return the content of a file in this state, or a link's target.

        None if there was no file, or if its content is lost.
        """
        if state is None or state.is_folder:
            return None
        return state.link.encode("utf-8", "surrogateescape") if state.link else self._objects.get(state.sha256)

    def _pending(self, cause: Cause, calls: Sequence[str], found: FileStates) -> Pending:
        pending = Pending(new_id(), cause, tuple(calls), found, time.time_ns())
        # Without it, an interrupted change cannot be undone; that is no reason to stop the work.
        with contextlib.suppress(OSError):
            make_folder(self._disk, self._folder)
            write_file(self._disk, self._folder / PENDING, _encode(pending), durable=cause == "edits")
        return pending

    def _states_after(self, pending: Pending) -> FileStates:
        """Return the states after a command, without files that merely entered or left the listing."""
        now = self._reader.read_all(self._roots, self._listing)
        links = _links(now.states)
        gone = [path for path in pending.before.states if path not in now.states]
        unlisted = self._reader.read(path for path in gone if links.isdisjoint(path.parents))
        states = {**now.states, **dict.fromkeys(gone), **unlisted.states}
        uncovered = {**now.uncovered, **unlisted.uncovered}
        marks = {**now.marks, **unlisted.marks}
        rules_changed = self._rules_changed(pending.before, states)
        late = [root for root in self._roots if root not in self._known_roots]
        created: set[Path] = set()
        for path in sorted(path for path in now.states if path not in pending.before.states):
            if any(root in path.parents for root in pending.before.uncovered):
                del states[path]  # it was over the limit before; the root's reason covers it
            elif any(root in path.parents for root in late) and not any(
                root in path.parents for root in self._known_roots
            ):
                del states[path]
                if _changed_since(path, pending.started):
                    uncovered[path] = "lies in a folder that joined the workspace meanwhile"
                    marks[path] = ()
            elif not rules_changed and (path.parent in created or _changed_since(path, pending.started)):
                created.add(path)
            else:
                del states[path]
                uncovered[path] = "may have been there before"
                marks[path] = ()
        return FileStates(states, uncovered, marks, now.skipped)

    def _rules_changed(self, before: FileStates, states: States) -> bool:
        """Return True if a `.gitignore` changed that may have hidden files before; one in a new folder has not."""
        rules = [path for path in states if path.name == ".gitignore" and before.states.get(path) != states[path]]
        folders = {folder for path in before.states for folder in path.parents} if rules else set()
        return any(path.parent in folders or path.parent in self._roots for path in rules)

    def _objection(self, target: Target, now: FileStates) -> str:
        """Return why a file is not restored, or an empty text."""
        if target.path in now.uncovered:
            return now.uncovered[target.path]
        current = now.states[target.path]
        if current == target.wanted:
            return ""
        if not self._inside(target.path):
            return "lies outside of the workspace"
        if target.wanted is None and not target.created:
            return "was not made by the agent"
        if current != target.left:
            return "was changed since by another program"
        return self._forbids(target.path)

    def _put_back(self, target: Target, current: State | None) -> str:
        wanted = target.wanted
        if wanted == current:
            return ""
        data = b"" if wanted is None or wanted.is_folder or wanted.link else self._objects.get(wanted.sha256)
        if data is None:
            return "its former content is lost"
        if current is not None and (wanted is None or current.is_folder != wanted.is_folder):
            if current.is_folder and any(target.path.iterdir()):
                return "is not empty"
            (os.rmdir if current.is_folder else self._disk.unlink)(target.path)
        if wanted is None:
            return ""
        target.path.parent.mkdir(parents=True, exist_ok=True)
        if wanted.is_folder:
            target.path.mkdir(exist_ok=True)
        elif wanted.link:
            return self._link(target.path, wanted.link)
        else:
            write_file(self._disk, target.path, data)
        os.chmod(target.path, wanted.mode)
        return ""

    def _link(self, path: Path, to: str) -> str:
        aside = path.with_name(temporary_name(path.name))
        os.symlink(to, aside)
        self._disk.rename(aside, path)
        return ""

    def _missing(self, path: Path) -> Iterator[Path]:
        """Yield the missing folders inside the roots that will be created for a file."""
        for folder in path.parents:
            if not self._inside(folder) or os.path.lexists(folder):
                return
            yield folder

    def _inside(self, path: Path) -> bool:
        real = Path(os.path.realpath(path.parent))
        return any(root == real or root in real.parents for root in self._roots)


def _links(states: States) -> set[Path]:
    return {path for path, state in states.items() if state is not None and state.link}


def _turn(target: Target) -> tuple[bool, int]:
    """Return the sort key of a restore: first removals, innermost first, then the rest, outermost first."""
    depth = len(target.path.parts)
    return (False, -depth) if target.wanted is None else (True, depth)


def _changed_unseen(before: FileStates, after: FileStates) -> dict[Path, str]:
    """Return the files that may have changed but have no stored state, with the reasons."""
    unseen = {**before.uncovered, **after.uncovered}
    return {path: why for path, why in unseen.items() if before.marks.get(path) != after.marks.get(path)}


def _encode(pending: Pending) -> bytes:
    raw = {
        "id": pending.id,
        "cause": pending.cause,
        "calls": list(pending.calls),
        "started": pending.started,
        "before": states_to_json(pending.before.states),
        "uncovered": {str(path): why for path, why in pending.before.uncovered.items()},
    }
    return dumps(raw).encode("utf-8", "surrogateescape")


def _read_pending(path: Path) -> Pending | None:
    try:
        raw = json.loads(path.read_bytes())
        uncovered = {Path(name): str(why) for name, why in raw["uncovered"].items()}
        states = FileStates(states_from_json(raw["before"]), uncovered, {})
        return Pending(str(raw["id"]), raw["cause"], tuple(raw["calls"]), states, int(raw["started"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _changed_since(path: Path, started: int) -> bool:
    # The kernel's file times advance in steps of up to 10 ms.
    with contextlib.suppress(OSError):
        return path.lstat().st_ctime_ns >= started - 10_000_000
    return False


def _merged(found: Sequence[FileStates]) -> FileStates:
    """Return the states of several folders as one."""
    if len(found) == 1:
        return found[0]
    states = {path: state for each in found for path, state in each.states.items()}
    uncovered = {path: why for each in found for path, why in each.uncovered.items()}
    marks = {path: mark for each in found for path, mark in each.marks.items()}
    return FileStates(states, uncovered, marks, tuple(path for each in found for path in each.skipped))


def _differences(before: FileStates, after: FileStates) -> tuple[States, States]:
    """Return the changed states, before and after. Paths that were unreadable at either time do not count."""
    unseen = before.uncovered.keys() | after.uncovered.keys()
    changed = {
        path
        for path in before.states.keys() | after.states.keys()
        if before.states.get(path) != after.states.get(path) and path not in unseen
    }
    ordered = sorted(changed)
    return {path: before.states.get(path) for path in ordered}, {path: after.states.get(path) for path in ordered}


def _plain(path: Path) -> Path:
    """Return an absolute path, without dots and links."""
    absolute = Path(os.path.abspath(path))
    return Path(os.path.realpath(absolute if absolute.is_symlink() else absolute.parent / absolute.name))

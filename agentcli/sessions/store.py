"""Store of all sessions of a user: creates, finds, lists, renames, deletes and restores them."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli import __version__
from agentcli.core.errors import InputError, StoreError
from agentcli.core.record import Record, Settings, Title
from agentcli.sessions.info import (
    PENDING,
    Parent,
    SessionInfo,
    Times,
    checked_id,
    encode_origin,
    name_of,
    new_id,
    stamp,
)
from agentcli.sessions.project import PROJECT, Project, find_project, project_id, remember_later, top_for
from agentcli.sessions.storage.records import Through
from agentcli.sessions.storage.writer import INTERVAL, Lock, Writer, is_locked
from agentcli.sessions.summaries import fitting, glance, newest, order, subfolders, the_one
from agentcli.system.disk import DISK, Disk, make_folder, reason, sync_folder, write_file

Projects = Project | str | None
"""A selection of sessions.

Select those of a repository with all its places, of one place by its id, or of all projects.
"""
if TYPE_CHECKING:  # needed by few commands, which import it
    from agentcli.sessions.checkpoints.checkpoints import Checkpoints
    from agentcli.sessions.checkpoints.file_states import Listing
    from agentcli.sessions.rows import Row
    from agentcli.sessions.session import Session
    from agentcli.sessions.settings import CheckpointLimits
    from agentcli.sessions.trash import Trash

PINNED = "pinned"
"""File in a session's folder that protects the session from retention."""
_LIST = "agentcli sessions list"


class Store:
    """Sessions under `root` (`$XDG_DATA_HOME/agentcli/sessions`): one folder per project, in it one per session."""

    def __init__(self, root: Path, *, disk: Disk = DISK, interval: float = INTERVAL) -> None:
        """Open the store of `root`; `interval` is the time in seconds between two saves of a streaming reply."""
        self.root = root
        self._disk, self._interval = disk, interval

    @property
    def trash(self) -> Trash:
        """The deleted sessions."""
        from agentcli.sessions.trash import Trash

        return Trash(self.root, self._disk)

    def project_id(self, directory: Path) -> str:
        """Return the store's folder name for sessions in `directory`, made from its repository's top folder."""
        return project_id(directory)

    def project(self, directory: Path) -> Project:
        """Find the project of a folder, with the other places of its repository that have sessions."""
        return find_project(self.root, directory)

    def folder(self, info: SessionInfo) -> Path:
        """Return the folder of a session."""
        return self.root / info.project_id / info.id

    def create(
        self,
        directory: Path,
        *,
        model: str = "",
        mode: str = "",
        parent: Parent | None = None,
        version: str = __version__,
        session_id: str = "",
    ) -> Session:
        """Create a session, open for writing. Nothing is on disk until its first record.

        `session_id` is an external id. Raises InputError if it is not valid, or if another session has it.
        """
        from agentcli.sessions.session import Session

        if session_id and any(self._fitting(checked_id(session_id), None, whole=True)):
            raise InputError(f"There is a session {session_id} already. `agentcli resume {session_id}` continues it.")
        here = str(Path(os.path.realpath(directory)))
        info = SessionInfo(
            session_id or new_id(), project_id(directory), here, parent, version=version, time=Times(created=stamp())
        )
        folder = self.folder(info)
        on_created = partial(remember_later, folder.parent, directory)
        writer = Writer(folder, self._disk, encode_origin(info), on_created=on_created)
        session = Session(folder, info, self._disk, writer, interval=self._interval)
        if model or mode:
            session.append(Settings(model, mode))
        return session.follow(self._former)

    def open(self, project_id: str, session_id: str, read_only: bool = False, through: Through = iter) -> Session:
        """Open a session as it was left, repaired if its last process died. Records that are read pass `through`.

        Raises SessionBusy if another process has it open for writing, StoreError if it does not exist.
        """
        from agentcli.sessions.recovery import open_session

        folder = self.root / _plain(project_id) / _plain(session_id)
        session = open_session(folder, self._disk, read_only=read_only, interval=self._interval, through=through)
        if not read_only and not (folder.parent / PROJECT).exists():
            remember_later(folder.parent, Path(session.info.directory))
        return session.follow(self._former)

    def _former(self, session_id: str) -> Session | None:
        """Open a session that was handed off to another, read-only; None if it is gone."""
        from agentcli.sessions.recovery import open_session

        folder = next(self.root.glob(f"*/{_plain(session_id)}"), None)
        with contextlib.suppress(StoreError):
            return open_session(folder, self._disk, read_only=True).follow(self._former) if folder else None
        return None

    def fork(
        self,
        info: SessionInfo,
        seq: int | None = None,
        directory: Path | None = None,
        *,
        through: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    ) -> SessionInfo:
        """Create a session that begins like this one up to record `seq`, by default all of it; `open` continues it.

        The record files pass `through`, a callback that may show progress. The source may be open: its records never
        change. The title is marked as a fork, and a name gets a number. So people can tell the two apart. Raises
        InputError for an unknown record, and StoreError if the disk refuses.
        """
        from agentcli.sessions.copying import fork

        source = self.folder(info)
        info = glance(source) or info
        until = info.records if seq is None else seq
        if not 0 < until <= info.records:
            raise InputError(f"Session {info.id} has no record {until}: it has 1 to {info.records}.")
        here = Path(os.path.realpath(directory)) if directory else Path(info.directory)
        copy = replace(
            info,
            id=new_id(),
            project_id=project_id(here) if directory else info.project_id,
            directory=str(here),
            parent=Parent(info.id, until),
            version=__version__,
            time=Times(stamp(), stamp()),
            imported={},
            foreign=min(info.foreign, until),
        )
        unused = partial(self.unused_name, project=copy.project_id)
        return fork(source, self.folder(copy), copy, until, self._disk, unused, through)

    def checkpoints(
        self,
        session: Session,
        roots: Sequence[Path],
        *,
        added: Callable[[], Sequence[Path]] = tuple,
        listing: Listing | None = None,
        limits: CheckpointLimits | None = None,
        objection: Callable[[Path], str] = lambda _: "",
    ) -> Checkpoints:
        """Open the store of file states under `roots` for a session; contents are shared within its project.

        `added` returns the folders that have joined the roots since.
        `listing` lists the files worth covering, by default all outside folders that a command can rebuild. `objection`
        returns why a file is never restored, or an empty text.
        """
        from agentcli.sessions.checkpoints.checkpoints import Checkpoints
        from agentcli.sessions.checkpoints.file_states import LIMITS, plain_listing
        from agentcli.sessions.checkpoints.objects import POOL

        folder = self.folder(session.info)
        return Checkpoints(
            folder / "checkpoints",
            roots,
            added=added,
            listing=listing or plain_listing,
            limits=limits or LIMITS,
            objection=objection,
            pool=folder.parent / POOL,
            disk=self._disk,
        )

    def interrupted(self, session: Session) -> bool:
        """Return True if the session's last process died during a change of files."""
        return (self.folder(session.info) / "checkpoints" / PENDING).exists()

    def pin(self, info: SessionInfo, pinned: bool = True) -> None:
        """Protect a session from all retention limits, or stop that. Raises StoreError if the disk refuses."""
        mark = self.folder(info) / PINNED
        try:
            if pinned:
                write_file(self._disk, mark, b"")
            elif mark.exists():
                self._disk.unlink(mark)
        except OSError as error:
            raise StoreError(f"Can't pin session {info.id}: {reason(error)}.") from error

    def is_pinned(self, info: SessionInfo) -> bool:
        """Return True if the user pinned a session."""
        return (self.folder(info) / PINNED).exists()

    def is_open(self, info: SessionInfo) -> bool:
        """Return True if a living process writes to a session."""
        return is_locked(self.folder(info) / "lock")

    def opened(self, more: Container[str] = ()) -> Sequence[SessionInfo]:
        """Return the sessions that living processes write to, and those with the ids `more`, last written first. Others are not read."""
        folders = [
            folder
            for folder in self._folders(None)
            if os.path.basename(folder) in more or is_locked(Path(folder, "lock"))
        ]
        infos = [info for folder in folders if (info := glance(folder)) is not None]
        return sorted(infos, key=order, reverse=True)

    def find(self, selector: str, project: Projects = None) -> SessionInfo:
        """Find the session with this id, name or unique id prefix, by default in all projects.

        A complete id is found in any project. Raises InputError if none fits, or several do.
        """
        return the_one(selector, self._fitting(selector, project), lambda: self.list(project), "", _LIST)

    def chosen(self, selector: str, infos: Sequence[SessionInfo]) -> SessionInfo:
        """Return the session among these that a selector fits, by the rules of `find`."""
        return the_one(selector, fitting(selector, infos), lambda: infos, "", _LIST)

    def newest(self, project: Project | str) -> SessionInfo | None:
        """Return the last written session of this project, except subagents' sessions.

        Sessions of this very place, also from before a move, come before those of clones and worktrees.
        """
        if isinstance(project, str):
            return newest(self._folders(project))
        own = (folder for each in project.own for folder in self._folders(each))
        return newest(own, project.led_here) or newest(self._folders(project))

    def list(self, project: Projects = None) -> Sequence[SessionInfo]:
        """Return the sessions of a project, or of all, last written first."""
        infos = [info for folder in self._folders(project) if (info := glance(folder)) is not None]
        return sorted(infos, key=order, reverse=True)

    def rows(self, project: Projects = None) -> Sequence[Row]:
        """Return what a table shows of the sessions of a project, or of all, last written first."""
        from agentcli.sessions.rows import rows_in

        rows = [row for place in self._places(project) for row in rows_in(place)]
        return sorted(rows, key=attrgetter("updated", "id"), reverse=True)

    def records(self, info: SessionInfo) -> Iterator[Record]:
        """Yield the readable records of a session, oldest first, without disturbing a program that has it open."""
        return self.reader(info).records()

    def reader(self, info: SessionInfo) -> Session:
        """Return a session for reading only, as far as its summary knows it. Nothing is read or repaired before."""
        from agentcli.sessions.session import Session

        return Session(self.folder(info), info, self._disk, None)

    def rename(self, info: SessionInfo, name: str, project: Projects = None, *, through: Through = iter) -> SessionInfo:
        """Name a session that is not open here. No other session of its project may have the name.

        Records that are read pass `through`. Raises InputError for a name that `name_of` refuses, or that another
        session has. Raises SessionBusy if this session is open elsewhere, and StoreError if the disk refuses.
        """
        name = name_of(name)
        for other in self.list(project or info.project_id):
            if other.name == name and other.id != info.id:
                raise InputError(
                    f"Session {other.id} is already called {name!r}, and names must be unique. "
                    "Choose another name, or rename that session first."
                )
        session = self.open(info.project_id, info.id, through=through)
        try:
            session.append(Title(name=name))
            if session.unsaved:
                why = session.trouble().partition(". ")[0]
                raise StoreError(f"Session {info.id} was not renamed. {why}.")
            return session.info
        finally:
            session.close()

    def delete(self, info: SessionInfo) -> None:
        """Move a session to the trash; `restore` undoes it. Raises SessionBusy if it is open."""
        self.trash.put(info.project_id, info.id)

    def move(self, info: SessionInfo, directory: Path) -> SessionInfo:
        """Move a session to another folder: its project lists it there, and `-c` continues it.

        It keeps its subfolder if `directory` has one of that name. Raises SessionBusy if it is open, StoreError if the
        disk refuses.
        """
        from agentcli.sessions.recovery import save_info

        source, top = self.folder(info), Path(os.path.realpath(directory))
        with contextlib.suppress(ValueError):
            inside = top / Path(info.directory).relative_to(top_for(info.project_id, info.directory))
            top = inside if inside.is_dir() else top
        moved = replace(glance(source) or info, project_id=project_id(top), directory=str(top))
        target = self.folder(moved)
        try:
            lock = Lock(source / "lock")
            try:
                if target != source:
                    _move(self._disk, source, target)
                write_file(self._disk, target / "origin.json", encode_origin(moved))
                save_info(target, moved, self._disk)
            finally:
                lock.release()
        except OSError as error:
            raise StoreError(f"Can't move session {info.id}: {reason(error)}.") from error
        remember_later(target.parent, top)
        return moved

    def deleted_id(self, selector: str) -> str:
        """Return the id of a session in the trash by id, name or unique id prefix.

        Raises InputError if it is not there.
        """
        known = any(folder.name == selector for folder in self.trash.sessions())
        if known:
            return selector
        there = self.trashed()
        return the_one(selector, fitting(selector, there), lambda: there, " in the trash", f"{_LIST} --trash").id

    def restore(self, selector: str) -> SessionInfo:
        """Move a session back from the trash. Raises the same errors as `deleted_id`."""
        folder = self.trash.take_back(self.deleted_id(selector))
        info = glance(folder)
        if info is None:
            raise StoreError(f"{folder} was restored but contains no session.")
        return info

    def trashed(self) -> Sequence[SessionInfo]:
        """Return the sessions in the trash, last deleted first."""
        return [info for folder in self.trash.sessions() if (info := glance(folder)) is not None]

    def trashed_rows(self) -> Sequence[Row]:
        """Return what a table shows of the sessions in the trash, last deleted first."""
        from agentcli.sessions.rows import row_of

        return [row_of(info) for info in self.trashed()]

    def unused_name(self, name: str, project: Projects) -> str:
        """Return the name, or its first numbered form that no session of the project has."""
        used = {other.name for other in self.list(project)}
        stem = re.sub(r" \(\d+\)$", "", name)
        numbered = (f"{stem} ({n})" for n in itertools.count(2))
        return name if name not in used else next(other for other in numbered if other not in used)

    def _fitting(self, selector: str, project: Projects, whole: bool = False) -> Sequence[SessionInfo]:
        # Looks only for a folder of that name: listing all sessions for each of many takes seconds.
        plain = selector[:1] not in ("", ".") and "/" not in selector
        places = subfolders(str(self.root)) if plain else ()
        found = [folder for each in places if os.path.isdir(folder := os.path.join(each, selector))]
        if found or whole:
            return [info for folder in found if (info := glance(folder)) is not None]
        return fitting(selector, self.list(project))

    def _folders(self, project: Projects) -> Iterator[str]:
        for place in self._places(project):
            yield from subfolders(place)

    def _places(self, project: Projects) -> Sequence[str]:
        root = str(self.root)
        return subfolders(root) if not project else [os.path.join(root, _plain(each)) for each in ids(project)]


def ids(project: Project | str) -> Sequence[str]:
    """Return the names of a project's folders in the store."""
    return (project,) if isinstance(project, str) else project.ids


def _move(disk: Disk, source: Path, target: Path) -> None:
    make_folder(disk, target.parent)
    disk.rename(source, target)
    sync_folder(disk, target.parent)
    sync_folder(disk, source.parent)


def _plain(name: str) -> str:
    if not name or name.startswith(".") or "/" in name:
        raise InputError(f"{name!r} is not the id of a project or session.")
    return name

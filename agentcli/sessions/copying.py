"""Fork and import whole sessions: each is built in a hidden folder and appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentcli import __version__
from agentcli.core.codec.encode import encode
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.core.record import Record, Title
from agentcli.sessions.checkpoints.objects import CONTENTS
from agentcli.sessions.info import (
    SessionInfo,
    Times,
    encode_info,
    encode_origin,
    new_id,
    note,
    note_all,
    stamp,
    title_of_fork,
)
from agentcli.sessions.project import project_id
from agentcli.sessions.recovery import retrace
from agentcli.sessions.storage.recall_index import shared_segments
from agentcli.sessions.storage.records import RECALL, RecordFolder, digest, file_name
from agentcli.sessions.storage.writer import Lock, is_locked
from agentcli.system.disk import DISK, Disk, make_folder, put_file, reason, sync_folder, write_file, write_new

if TYPE_CHECKING:
    from agentcli.sessions.imported import Imported, Shown

INCOMING = ".incoming-"
"""Prefix of the folder of a session that is still being built; its builder holds the lock."""
ABANDONED = 86_400.0
"""Seconds after which the next fork or import removes an abandoned build; also the default for sweeping sessions."""
_NO_SOURCE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Draft:
    """A session that is written but not yet in its place. Its lock shows others that it is being built."""

    info: SessionInfo
    folder: Path
    lock: Lock

    def discard(self) -> None:
        """Remove the draft and release its lock."""
        self.lock.release()
        _remove(self.folder)


def build(target: Path, fill: Callable[[Path], SessionInfo], disk: Disk) -> Draft:
    """Write the session for `target` into a locked folder beside it, without waiting for the disk.

    `fill` writes the files into the folder passed to it. If anything fails, nothing remains. Raises StoreError if the
    disk refuses.
    """
    aside = target.with_name(f"{INCOMING}{target.name}")
    with contextlib.ExitStack() as undo:
        try:
            make_folder(disk, target.parent)
            undo.callback(_remove, aside)
            make_folder(disk, aside, durable=False)
            lock = Lock(aside / "lock")
            undo.callback(lock.release)
            make_folder(disk, aside / "records", durable=False)
            draft = Draft(fill(aside), aside, lock)
        except OSError as error:
            raise StoreError(f"Can't write session {target.name} in {target.parent}: {reason(error)}.") from error
        undo.pop_all()
    return draft


def settle_drafts(
    drafts: Sequence[Draft], sync: Callable[[], None] = os.sync, *, disk: Disk = DISK
) -> Sequence[SessionInfo]:
    """Make all drafts durable together and give them their final names.

    `sync` waits until all written data is on the medium. Raises StoreError if the disk refuses; drafts without a final
    name are then removed.
    """
    waiting = list(drafts)
    try:
        if drafts:
            sync()
        while waiting:
            disk.rename(waiting[0].folder, waiting[0].folder.with_name(waiting[0].info.id))
            waiting.pop(0).lock.release()
        for project in {each.folder.parent for each in drafts}:
            sync_folder(disk, project)
            remove_abandoned(project, ABANDONED)
    except OSError as error:
        raise StoreError(f"Can't save the new session: {reason(error)}.") from error
    finally:
        for each in waiting:
            each.discard()
    return [each.info for each in drafts]


def abandoned(project: Path, older_than: float = 0.0) -> Sequence[Path]:
    """Return the leftovers of forks and imports whose process died, started more than `older_than` seconds ago."""
    found = [folder for folder in sorted(project.glob(f"{INCOMING}*")) if not is_locked(folder / "lock")]
    return [folder for folder in found if _age(folder) > older_than]


def remove_abandoned(project: Path, older_than: float) -> Sequence[Path]:
    """Remove the leftovers that `abandoned` finds; return the removed folders."""
    gone = abandoned(project, older_than)
    for folder in gone:
        _remove(folder)
    return [folder for folder in gone if not folder.exists()]


def fork(
    source: Path,
    target: Path,
    info: SessionInfo,
    seq: int,
    disk: Disk,
    unused_name: Callable[[str], str],
    through: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> SessionInfo:
    """Create a session that shares the records of `source` up to `seq`.

    They are hard links to the same files, which never change. If the source has a name, the last record of the copy
    names it `unused_name(name)`.
    """

    def fill(folder: Path) -> SessionInfo:
        named = through(RecordFolder(source / "records").files().items())
        _share_named(
            (names[0] for number, names in named if number <= seq), source / "records", folder / "records", disk
        )
        for name in ("outputs", CONTENTS, "damaged"):
            _share_all(source / name, folder / name, disk)
        for path in shared_segments(source / RECALL, seq):
            make_folder(disk, folder / RECALL)
            _share(path, folder / RECALL / path.name, disk)
        counted = _counted(folder, info, seq)
        title = title_of_fork(counted.title)
        counted = replace(counted, title=title, inherited=counted.usage, inherited_cost=counted.cost)
        if counted.name:
            counted = _named(folder, counted, unused_name(counted.name), disk)
        return _finish(folder, counted, disk)

    begun = build(target, fill, disk)
    [info] = settle_drafts([begun], lambda: _sync_folders(begun.folder, disk), disk=disk)
    return info


def draft(
    root: Path,
    imported: Imported,
    home: Path,
    source: Mapping[str, str] = _NO_SOURCE,
    *,
    disk: Disk = DISK,
    through: Shown | None = None,
) -> Draft:
    """Write a session for the folder `home` without waiting for the disk; `settle_drafts` moves many into place at
    once.

    `source` becomes `SessionInfo.imported`; the written records pass `through`. Raises StoreError if the disk refuses;
    then nothing remains.
    """
    directory = str(Path(os.path.realpath(home)))
    born = Times(created=imported.time or stamp())
    info = SessionInfo(
        new_id(), project_id(Path(directory)), directory, imported.parent, version=__version__, time=born
    )
    last = imported.kept[-1][0].seq if imported.kept else 0
    info = replace(info, imported=dict(source), foreign=last + len(imported.bodies) - len(imported.kept))
    return build(root / info.project_id / info.id, lambda folder: _write(folder, info, imported, disk, through), disk)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return -1.0


def _counted(folder: Path, info: SessionInfo, seq: int) -> SessionInfo:
    """Return `info` with the totals of the records up to `seq`, reading records only for a part of the source."""
    if info.records == seq and info.head:
        return info
    counted = retrace(folder)
    return replace(
        counted,
        id=info.id,
        project_id=info.project_id,
        directory=info.directory,
        parent=info.parent,
        version=info.version,
        foreign=info.foreign,
        time=replace(counted.time, created=info.time.created, updated=info.time.updated),
    )


def _named(folder: Path, info: SessionInfo, name: str, disk: Disk) -> SessionInfo:
    record = Record(info.records + 1, new_id(), stamp(), info.head, Title(name=name))
    data = encode(record)
    put_file(disk, folder / "records" / file_name(record.seq, record.kind), data)
    return note(info, record, digest(data))


def _finish(folder: Path, info: SessionInfo, disk: Disk) -> SessionInfo:
    info = replace(info, shelf=RecordFolder(folder / "records").mark())
    write_file(disk, folder / "origin.json", encode_origin(info))
    write_file(disk, folder / "session.json", encode_info(info))
    return info


def _sync_folders(folder: Path, disk: Disk) -> None:
    # The files are on the medium already: they are the source's under another name, or were synced since.
    for here, _, _ in os.walk(folder):
        sync_folder(disk, Path(here))


def _share_all(source: Path, target: Path, disk: Disk) -> None:
    for path in sorted(source.rglob("*")):
        there = target / path.relative_to(source)
        if path.is_dir():
            make_folder(disk, there)
        elif path.is_file() and not path.name.startswith("."):
            make_folder(disk, there.parent)
            _share(path, there, disk)


def _share_named(names: Iterable[str], source: Path, target: Path, disk: Disk) -> None:
    """Share files of one folder in another. Neither path is resolved for each of them."""
    with contextlib.ExitStack() as opened:
        folders = None
        for name in names:
            folders = folders or (_opened(source, disk, opened), _opened(target, disk, opened))
            try:
                disk.link(name, name, folders)
            except OSError:
                _share(source / name, target / name, disk)


def _opened(folder: Path, disk: Disk, until: contextlib.ExitStack) -> int:
    opened = disk.open_folder(folder)
    until.callback(disk.close, opened)
    return opened


def _share(path: str | Path, there: str | Path, disk: Disk) -> None:
    try:
        disk.link(path, there)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, one without links, or too many links
        with contextlib.suppress(FileExistsError):
            write_file(disk, Path(there), Path(path).read_bytes())


def _write(folder: Path, info: SessionInfo, imported: Imported, disk: Disk, through: Shown | None) -> SessionInfo:
    write_new(disk, folder / "origin.json", encode_origin(info))
    written = _written(imported, folder / "records", disk)
    info = note_all(info, through(written, len(imported.bodies)) if through else written)
    files: list[tuple[Path, bytes]] = []
    for name, text in imported.outputs.items():
        files.append((folder / "outputs" / Path(name).name, text.encode("utf-8", "backslashreplace")))
    for parent in {path.parent for path, _ in files}:
        make_folder(disk, parent, durable=False)
    for path, data in files:
        write_new(disk, path, data)
    info = replace(info, shelf=RecordFolder(folder / "records").mark())
    write_new(disk, folder / "session.json", encode_info(info))
    return info


def _written(imported: Imported, folder: Path, disk: Disk) -> Iterator[tuple[Record, str]]:
    """Write the records; yield each after writing, with the hash of its file."""
    prefix = f"{folder}{os.sep}"  # as text: creating thousands of Path objects takes longer than writing the files
    for record, data, head in _records(imported):
        write_new(disk, f"{prefix}{file_name(record.seq, record.kind)}", data)
        yield record, head


def _records(imported: Imported) -> Iterator[tuple[Record, bytes, str]]:
    """Yield the records with the bytes and hashes of their files."""
    last, prev = 0, ""
    for record, data in imported.kept:
        last, prev = record.seq, digest(data)
        yield record, data, prev
    for seq, (when, body) in enumerate(imported.bodies[len(imported.kept) :], last + 1):
        record = Record(seq, new_id(), when, prev, body)
        data = encode(record)
        prev = digest(data)
        yield record, data, prev

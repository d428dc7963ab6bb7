"""Puts an imported session into the store: it appears there whole or not at all, and many cost little more than one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from agentcli import __version__
from agentcli.core.codec import decode, encode
from agentcli.core.errors import StoreError
from agentcli.core.record import Record
from agentcli.sessions.disk import DISK, Disk, make_folder, reason, sync_folder, write_new
from agentcli.sessions.ids import new_id, stamp
from agentcli.sessions.importing.imported import Imported
from agentcli.sessions.info import Info, Times, encode_info, note
from agentcli.sessions.lock import Lock
from agentcli.sessions.opening import encode_origin
from agentcli.sessions.place import ABANDONED, INCOMING, remove_abandoned
from agentcli.sessions.project import project_id
from agentcli.sessions.records import Shelf, digest, file_name

NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Draft:
    """A session that is written but not in its place yet. Its lock tells other processes that somebody works on it."""

    info: Info
    folder: Path
    lock: Lock

    def discard(self) -> None:
        """Leave nothing behind."""
        self.lock.release()
        shutil.rmtree(self.folder, ignore_errors=True)


def plant(root: Path, imported: Imported, here: Path, *, disk: Disk = DISK) -> Info:
    """Store a session under `root` and say what it is. It belongs to the folder it was led in, or `here` where that
    does not exist.

    Raises StoreError when the disk refuses; nothing is left behind then.
    """
    home = Path(imported.cwd) if imported.cwd and Path(imported.cwd).is_dir() else here
    [info] = settle_drafts([draft(root, imported, home, disk=disk)], disk=disk)
    return info


def draft(
    root: Path, imported: Imported, home: Path, source: Mapping[str, str] = NOWHERE, *, disk: Disk = DISK
) -> Draft:
    """Write a session that belongs to the folder `home`, without waiting for the disk; `settle_drafts` puts it in its place.

    `source` is what `Info.imported` says of it. Raises StoreError when the disk refuses; nothing is left behind then.
    """
    directory = str(Path(os.path.realpath(home)))
    born = Times(created=imported.time or stamp())
    info = Info(new_id(), project_id(Path(directory)), directory, imported.parent, version=__version__, time=born)
    info = replace(info, imported=dict(source))
    folder = root / info.project_id / f"{INCOMING}{info.id}"
    try:
        make_folder(disk, folder.parent)
        make_folder(disk, folder, durable=False)
        begun = Draft(info, folder, Lock(folder / "lock"))
        return replace(begun, info=_write(folder, info, imported, disk))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StoreError(f"The session could not be saved in {folder.parent}: {reason(error)}.") from error


def settle_drafts(drafts: Sequence[Draft], *, disk: Disk = DISK) -> Sequence[Info]:
    """Make drafts durable, all at once, and give them their names. Raises StoreError when the disk refuses; those that have no
    name then are gone."""
    waiting = list(drafts)
    try:
        if drafts:
            os.sync()
        while waiting:
            disk.rename(waiting[0].folder, waiting[0].folder.with_name(waiting[0].info.id))
            waiting.pop(0).lock.release()
        for project in {each.folder.parent for each in drafts}:
            sync_folder(disk, project)
            remove_abandoned(project, ABANDONED)
    except OSError as error:
        for each in waiting:
            each.discard()
        raise StoreError(f"What was imported could not be saved: {reason(error)}.") from error
    return [each.info for each in drafts]


def _write(folder: Path, info: Info, imported: Imported, disk: Disk) -> Info:
    shelf = folder / "records"
    make_folder(disk, shelf, durable=False)
    files: list[tuple[Path, bytes]] = [(folder / "origin.json", encode_origin(info))]
    for record, data in _records(imported):
        files.append((shelf / file_name(record.seq, record.kind), data))
        info = note(info, record, digest(data))
    for name, text in imported.outputs.items():
        files.append((folder / "outputs" / Path(name).name, text.encode("utf-8", "backslashreplace")))
    for key, content in imported.contents.items():
        files.append((folder / "checkpoints" / "objects" / key[:2] / key[2:], content))
    for place in {path.parent for path, _ in files}:
        make_folder(disk, place, durable=False)
    for path, data in files:
        write_new(disk, path, data)
    info = replace(info, shelf=Shelf(shelf).mark())
    write_new(disk, folder / "session.json", encode_info(info))
    return info


def _records(imported: Imported) -> Iterator[tuple[Record, bytes]]:
    if imported.raw:
        yield from ((decode(data), data) for data in imported.raw)
        return
    prev = ""
    for seq, (time, body) in enumerate(imported.bodies, 1):
        record = Record(seq, new_id(), time, prev, body)
        data = encode(record)
        prev = digest(data)
        yield record, data

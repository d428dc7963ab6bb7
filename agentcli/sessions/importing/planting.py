"""Puts an imported session into the store: it appears there whole or not at all, and many cost little more than one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli import __version__
from agentcli.core.codec import decode, encode
from agentcli.core.record import Record
from agentcli.sessions.disk import DISK, Disk, make_folder, write_new
from agentcli.sessions.ids import new_id, stamp
from agentcli.sessions.info import Info, Times, encode_info, note
from agentcli.sessions.opening import encode_origin
from agentcli.sessions.place import Draft, build, settle_drafts
from agentcli.sessions.project import project_id
from agentcli.sessions.records import Shelf, digest, file_name

if TYPE_CHECKING:  # so that a store loads no importer
    from agentcli.sessions.importing.imported import Imported

NOWHERE: Mapping[str, str] = MappingProxyType({})


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
    return build(root / info.project_id / info.id, lambda folder: _write(folder, info, imported, disk), disk)


def _write(folder: Path, info: Info, imported: Imported, disk: Disk) -> Info:
    write_new(disk, folder / "origin.json", encode_origin(info))
    for record, data in _records(imported):
        write_new(disk, folder / "records" / file_name(record.seq, record.kind), data)
        info = note(info, record, digest(data))
    files: list[tuple[Path, bytes]] = []
    for name, text in imported.outputs.items():
        files.append((folder / "outputs" / Path(name).name, text.encode("utf-8", "backslashreplace")))
    for key, content in imported.contents.items():
        files.append((folder / "checkpoints" / "objects" / key[:2] / key[2:], content))
    for parent in {path.parent for path, _ in files}:
        make_folder(disk, parent, durable=False)
    for path, data in files:
        write_new(disk, path, data)
    info = replace(info, shelf=Shelf(folder / "records").mark())
    write_new(disk, folder / "session.json", encode_info(info))
    return info


def _records(imported: Imported) -> Iterator[tuple[Record, bytes]]:
    if imported.raw:
        yield from ((decode(data), data) for data in imported.raw)
        return
    prev = ""
    for seq, (when, body) in enumerate(imported.bodies, 1):
        record = Record(seq, new_id(), when, prev, body)
        data = encode(record)
        prev = digest(data)
        yield record, data

"""Puts an imported session into the store: it appears there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentcli import __version__
from agentcli.core.codec import decode, encode
from agentcli.core.errors import StoreError
from agentcli.core.record import Record
from agentcli.sessions.disk import DISK, Disk, make_folder, reason, sync_folder, write_file
from agentcli.sessions.ids import new_id, stamp
from agentcli.sessions.importing.imported import Imported
from agentcli.sessions.info import Info, Times, encode_info, note
from agentcli.sessions.opening import encode_origin
from agentcli.sessions.place import INCOMING, remove_strays
from agentcli.sessions.project import project_id
from agentcli.sessions.records import Shelf, digest, file_name


def plant(root: Path, imported: Imported, here: Path, *, disk: Disk = DISK) -> Info:
    """Store a session under `root` and say what it is. It belongs to the folder it was led in, or `here` where that
    does not exist.

    The files are written without waiting for the disk one by one, then all are made durable at once, then the session gets its
    name. Raises StoreError when the disk refuses; nothing is left behind then.
    """
    home = Path(imported.cwd) if imported.cwd and Path(imported.cwd).is_dir() else here
    directory = str(Path(os.path.realpath(home)))
    born = Times(created=imported.time or stamp())
    info = Info(new_id(), project_id(Path(directory)), directory, imported.parent, version=__version__, time=born)
    folder = root / info.project_id / info.id
    draft = folder.with_name(f"{INCOMING}{info.id}")
    try:
        info = _write(draft, info, imported, disk)
        os.sync()
        disk.rename(draft, folder)
        sync_folder(disk, folder.parent)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise StoreError(f"The session could not be saved in {folder.parent}: {reason(error)}.") from error
    remove_strays(folder.parent)
    return info


def _write(draft: Path, info: Info, imported: Imported, disk: Disk) -> Info:
    shelf = draft / "records"
    make_folder(disk, shelf)
    write_file(disk, draft / "origin.json", encode_origin(info), durable=False)
    for record, data in _records(imported):
        write_file(disk, shelf / file_name(record.seq, record.kind), data, durable=False)
        info = note(info, record, digest(data))
    if imported.outputs:
        make_folder(disk, draft / "outputs")
    for name, text in imported.outputs.items():
        data = text.encode("utf-8", "backslashreplace")
        write_file(disk, draft / "outputs" / Path(name).name, data, durable=False)
    for key, content in imported.contents.items():
        place = draft / "checkpoints" / "objects" / key[:2] / key[2:]
        make_folder(disk, place.parent)
        write_file(disk, place, content, durable=False)
    info = replace(info, shelf=Shelf(shelf).mark())
    write_file(disk, draft / "session.json", encode_info(info), durable=False)
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

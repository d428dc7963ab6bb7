"""Whole sessions at once: forks and imports are built aside and appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agentcli.core.codec import decode, encode
from agentcli.core.errors import StoreError
from agentcli.core.record import Body, Record
from agentcli.sessions.disk import Disk, make_folder, reason, sync_folder, write_file
from agentcli.sessions.ids import new_id
from agentcli.sessions.info import Info, encode_info, note, title_of_fork
from agentcli.sessions.lock import Lock, is_locked
from agentcli.sessions.opening import encode_origin, retrace
from agentcli.sessions.records import Shelf, digest, file_name

INCOMING = ".incoming-"
"""How the folder of a session begins that is still being built; who builds it holds its lock."""


@contextmanager
def arriving(target: Path, disk: Disk) -> Iterator[Path]:
    """A folder to build a session in; it becomes `target` when the block ends well and is removed otherwise.

    Raises StoreError when the disk refuses.
    """
    import shutil  # some milliseconds that only forks and imports need

    aside = target.with_name(f"{INCOMING}{target.name}")
    lock: Lock | None = None
    try:
        make_folder(disk, aside)
        lock = Lock(aside / "lock")
        make_folder(disk, aside / "records")
        yield aside
        for here, _, _ in os.walk(aside):
            sync_folder(disk, Path(here))
        disk.rename(aside, target)
        sync_folder(disk, target.parent)
    except OSError as error:
        raise StoreError(f"Session {target.name} cannot be written: {reason(error)}.") from error
    finally:
        if lock is not None:
            lock.release()
        shutil.rmtree(aside, ignore_errors=True)
    remove_abandoned(target.parent, ABANDONED)


ABANDONED = 86_400.0
"""Seconds after which what nobody builds any more goes with the next fork or import, and by default when sessions are swept."""


def abandoned(project: Path, older_than: float = 0.0) -> Sequence[Path]:
    """What is left of forks and imports whose process died while it built them, begun more than so many seconds ago."""
    found = [folder for folder in sorted(project.glob(f"{INCOMING}*")) if not is_locked(folder / "lock")]
    return [folder for folder in found if _age(folder) > older_than]


def remove_abandoned(project: Path, older_than: float) -> Sequence[Path]:
    """Remove it; which folders."""
    import shutil

    gone = abandoned(project, older_than)
    for folder in gone:
        shutil.rmtree(folder, ignore_errors=True)
    return [folder for folder in gone if not folder.exists()]


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return -1.0


def chain(said: Iterable[tuple[str, Body]]) -> Iterator[tuple[Record, bytes]]:
    """Records numbered from 1, with the given times, and their bytes."""
    head = ""
    for seq, (when, body) in enumerate(said, 1):
        record = Record(seq, new_id(), when, head, body)
        data = encode(record)
        head = digest(data)
        yield record, data


def as_they_are(files: Iterable[bytes]) -> Iterator[tuple[Record, bytes]]:
    """Records from the very bytes of their files. Raises codec.Damaged where they are none."""
    for data in files:
        yield decode(data), data


def place(
    target: Path, info: Info, records: Iterable[tuple[Record, bytes]], outputs: Mapping[str, str], disk: Disk
) -> Info:
    """A new session with these records and kept outputs (by file name). Raises StoreError when the disk refuses."""
    with arriving(target, disk) as folder:
        for record, data in records:
            write_file(disk, folder / "records" / file_name(record.seq, record.kind), data, durable=False)
            info = note(info, record, digest(data))
        for name, text in outputs.items():
            make_folder(disk, folder / "outputs")
            write_file(disk, folder / "outputs" / Path(name).name, text.encode("utf-8", "backslashreplace"))
        _sync_files(folder / "records", disk)
        return _finish(folder, info, disk)


def fork(source: Path, target: Path, info: Info, seq: int, disk: Disk) -> Info:
    """A session that shares the records of `source` up to `seq`: the same files by another name, since none ever changes."""
    with arriving(target, disk) as folder:
        shelf = Shelf(source / "records")
        for number in shelf.numbers():
            path = shelf.path(number) if number <= seq else None
            if path is not None:
                _share(path, folder / "records" / path.name, disk)
        for name in ("outputs", "checkpoints/objects", "damaged"):
            _share_all(source / name, folder / name, disk)
        counted = _counted(folder, info, seq)
        counted = replace(counted, title=title_of_fork(counted.title))
        return _finish(folder, replace(counted, inherited=counted.usage, inherited_cost=counted.cost), disk)


def _counted(folder: Path, info: Info, seq: int) -> Info:
    """With the sums of the records up to `seq`; those of the whole source are known already."""
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
        time=replace(counted.time, created=info.time.created, updated=info.time.updated),
    )


def _finish(folder: Path, info: Info, disk: Disk) -> Info:
    info = replace(info, shelf=Shelf(folder / "records").mark())
    write_file(disk, folder / "origin.json", encode_origin(info))
    write_file(disk, folder / "session.json", encode_info(info))
    return info


def _sync_files(folder: Path, disk: Disk) -> None:
    # All are written before the first is waited for: the system then writes them together.
    for name in os.listdir(folder):
        file = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            disk.fsync(file)
        finally:
            disk.close(file)


def _share_all(source: Path, target: Path, disk: Disk) -> None:
    for path in sorted(source.rglob("*")):
        there = target / path.relative_to(source)
        if path.is_dir():
            make_folder(disk, there)
        elif path.is_file() and not path.name.startswith("."):
            make_folder(disk, there.parent)
            _share(path, there, disk)


def _share(path: Path, there: Path, disk: Disk) -> None:
    try:
        disk.link(path, there)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without links, or too many of them
        with contextlib.suppress(FileExistsError):
            write_file(disk, there, path.read_bytes())

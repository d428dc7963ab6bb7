"""Open a session from any state that a crash, a power cut or a damaged disk may leave."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcli.core.codec import decode
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.core.history import History
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Record
from agentcli.sessions.info import (
    Parent,
    SessionInfo,
    decode_info,
    encode_info,
    encode_origin,
    foreign_of,
    note,
    source_of,
)
from agentcli.sessions.session import Session
from agentcli.sessions.storage.records import (
    RECALL,
    Loss,
    Reader,
    RecordFolder,
    Through,
    digest,
    judge,
    read_file,
    tail,
)
from agentcli.sessions.storage.writer import INTERVAL, Lock, Writer, read_partial
from agentcli.system.disk import Disk, is_temporary, make_folder, reason, write_file

RAN = "interrupted, may or may not have taken effect: the program ended while this call was open. Look before repeating it."
CUT_OFF = "interrupted, did not run: the reply that asked for it was cut off."


_PLAUSIBLE = 1_000
"""Number of lost records above which `session.json` itself is considered damaged."""


def open_session(
    folder: Path, disk: Disk, *, read_only: bool = False, interval: float = INTERVAL, through: Through = iter
) -> Session:
    """Open the session in a folder, with the state in force; repair it first unless `read_only`.

    Records that are read pass `through`. Raises SessionBusy if another process writes to the session, StoreError if
    there is no session or it is unreadable.
    """
    if not (folder / "records").is_dir() and not (folder / "session.json").is_file():
        raise StoreError(f"There is no session in {folder}.")
    with contextlib.ExitStack() as unfinished:
        lock = None if read_only else _lock(folder)
        if lock:
            unfinished.callback(lock.release)
        try:
            found = _read(folder, through)
            writer = None if read_only else Writer(folder, disk, encode_origin(found.info), lock)
            notes = [loss.why for loss in found.losses if not is_settled(folder, loss)]
            session = Session(folder, found.info, disk, writer, records=found.records, notes=notes, interval=interval)
            if not read_only:
                _mend(session, folder, found, disk)
        except OSError as error:
            raise StoreError(f"Can't read session {folder.name}: {reason(error)}.") from error
        unfinished.pop_all()
    return session


def repair_on_open(session: Session) -> None:
    """Close what a dead process left open: a partial reply becomes a record, and each open call gets a result."""
    folder = session.folder
    if folder is None:
        return
    leftover = folder / "partial.json"
    cut_off = False
    reply = read_partial(leftover)
    if reply and reply.parts and not _superseded(session.history, reply.after):
        provider, _, model = session.history.model.partition("/")
        turn = session.history.turn
        session.append(Message("assistant", reply.parts, turn, provider, model, stop="interrupted"))
        cut_off = True
    for call in session.history.open_calls:
        session.append(ToolResult(call.call_id, call.name, "interrupted", CUT_OFF if cut_off else RAN))
    if not session.unsaved:
        with contextlib.suppress(OSError):
            leftover.unlink()


def read_info(folder: str | Path) -> SessionInfo | None:
    """Return the content of `session.json`, or None if it is lost or damaged."""
    try:
        return decode_info(read_file(f"{folder}{os.sep}session.json"))
    except (OSError, ValueError):
        return None


def current_info(folder: str | Path) -> SessionInfo | None:
    """Return the content of `session.json` brought up to date with newer records, for example after a kill; None if
    damaged.
    """
    # Spelled out, with paths as text, because listings read thousands of sessions.
    info, records = read_info(folder), f"{folder}{os.sep}records"
    try:
        if info is None or info.shelf == os.stat(records).st_mtime_ns:
            return info
    except OSError:
        pass  # the records are looked for below
    shelf = RecordFolder(Path(records))
    mark = shelf.mark()
    newest = shelf.newest(info.records, info.shelf) if info else 0
    if info is None or not newest:
        return info
    return None if _is_implausible(info, newest) else replace(_caught_up(info, shelf, newest), shelf=mark)


def retrace(folder: Path) -> SessionInfo:
    """Rebuild `session.json` from all records, in time proportional to the session's length."""
    shelf = RecordFolder(folder / "records")
    info = _origin(folder)
    for seq in shelf.numbers():
        info = _noted(info, shelf, seq)
    aside = max(_numbers_aside(folder), default=0)
    records = max(info.records, aside)
    return replace(info, records=records, shelf=shelf.mark(), foreign=min(info.foreign, records))


def save_info(folder: Path, info: SessionInfo, disk: Disk) -> None:
    """Replace `session.json` of a session that no process writes to."""
    write_file(disk, folder / "session.json", encode_info(info))


def set_aside(folder: Path, losses: Sequence[Loss], disk: Disk) -> None:
    """Move damaged files to `damaged/` and put a mark there for missing ones, so that each is reported once."""
    for loss in losses:
        if loss.cause == "unreadable" or is_settled(folder, loss):
            continue
        # If the disk refuses, nothing changes: the loss is reported again next time.
        with contextlib.suppress(OSError):
            make_folder(disk, folder / "damaged")
            if loss.file is None:
                disk.close(disk.create(folder / "damaged" / f"{loss.seq:06d}-noted"))
            else:
                disk.rename(loss.file, free_name(folder / "damaged" / loss.file.name))


def remove_leftovers(folder: Path, disk: Disk) -> Sequence[Path]:
    """Remove the temporary files of killed writers and return them. The caller must hold the lock."""
    removed = []
    for each in (folder, folder / "records", folder / "outputs", folder / RECALL):
        for path in leftovers(each):
            with contextlib.suppress(OSError):
                disk.unlink(path)
                removed.append(path)
    return removed


def leftovers(folder: Path) -> Sequence[Path]:
    """Return the temporary files that a killed writer left in a folder."""
    try:
        return [folder / name for name in os.listdir(folder) if is_temporary(name)]
    except OSError:
        return ()


def vanished(newest: int, info: SessionInfo) -> Sequence[Loss]:
    """Return the lost records that `session.json` knows of; `newest` is the last existing one."""
    gone = () if _is_implausible(info, newest) else range(newest + 1, info.records + 1)
    return [Loss(seq, f"record {seq} is missing", None, "missing") for seq in gone]


def is_settled(folder: Path, loss: Loss) -> bool:
    """Return True if a missing or doubtful record was reported before and marked in `damaged/`."""
    return loss.file is None and any((folder / "damaged").glob(f"{loss.seq:06d}-*"))


def free_name(path: Path) -> Path:
    """Return the path, or one with a number appended if the name is taken."""
    numbered = (path.with_name(f"{path.name}.{n}") for n in range(1, 1_000))
    return path if not path.exists() else next(other for other in numbered if not other.exists())


@dataclass(frozen=True, slots=True)
class _Found:
    """Contents of a session's folder. `stale` if `session.json` is older than the newest record."""

    info: SessionInfo
    records: Sequence[Record]
    losses: Sequence[Loss]
    stale: bool


def _read(folder: Path, through: Through) -> _Found:
    with RecordFolder(folder / "records").held_open() as shelf:
        info = read_info(folder)
        mark = shelf.mark()
        stale = info is None or mark != info.shelf
        newest = shelf.newest(info.records, info.shelf) if info else 0
        proof = info.head if info and info.records == newest else ""
        if info is None or _is_implausible(info, newest):
            info, newest, proof = retrace(folder), max(shelf.numbers(), default=0), ""
        _expect(newest)
        reader = Reader(shelf, proof)
        records = tail(reader, newest, through)
        losses = [*reader.losses, *reader.doubts, *vanished(newest, info)]
        # The folder's place counts, not the id in a copied file.
        here = replace(_caught_up(info, shelf, newest), id=folder.name, project_id=folder.parent.name, shelf=mark)
    return _Found(here, records, losses, stale)


def _expect(records: int) -> None:
    """Prepare for reading so many records. Delay garbage collection while they make the objects that the session keeps.

    In the first request of a session of 20,000 records it takes a twentieth of the time. A program
    that searches often, such as one that embeds agentcli, goes on doing so.
    """
    decode.expect(records)
    youngest, *older = gc.get_threshold()
    if youngest >= _SELDOM:
        gc.set_threshold(max(youngest, min(_OBJECTS_EACH * records, _MOST_OBJECTS)), *older)


_SELDOM = 100_000
"""Threshold, in objects, of a program that collects garbage rarely."""
_OBJECTS_EACH, _MOST_OBJECTS = 50, 1_000_000
"""Objects that a record makes until its session has been compacted, and the most to wait for."""


def _is_implausible(info: SessionInfo, newest: int) -> bool:
    return info.records > newest + _PLAUSIBLE


def _mend(session: Session, folder: Path, found: _Found, disk: Disk) -> None:
    set_aside(folder, found.losses, disk)
    if found.stale:
        remove_leftovers(folder, disk)
    repair_on_open(session)
    if found.stale or found.losses:
        session.save_glance()


def _lock(folder: Path) -> Lock | None:
    try:
        return Lock(folder / "lock")
    except OSError:
        return None  # the store is not writable: the session continues in memory, and `trouble` reports it


def _origin(folder: Path) -> SessionInfo:
    raw: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, RecursionError):
        raw = dict(json.loads((folder / "origin.json").read_bytes()))
    parent = raw.get("parent")
    info = SessionInfo(
        folder.name, folder.parent.name, str(raw.get("directory") or ""), version=str(raw.get("version") or "")
    )
    with contextlib.suppress(TypeError):
        info = replace(info, imported=source_of(raw), foreign=foreign_of(raw, sys.maxsize))
    if parent:
        info = replace(info, parent=Parent(parent["session"], parent["seq"], parent.get("kind") or "fork"))
    return replace(info, time=replace(info.time, created=str(raw.get("created") or "")))


def _caught_up(info: SessionInfo, shelf: RecordFolder, newest: int) -> SessionInfo:
    """Add records newer than `session.json`. The number of a lost record is not reused."""
    if newest < info.records:
        data = shelf.read(newest) if newest else None
        return replace(info, head=digest(data) if data else "")
    for seq in range(info.records + 1, newest + 1):
        info = _noted(info, shelf, seq)
    return info


def _noted(info: SessionInfo, shelf: RecordFolder, seq: int) -> SessionInfo:
    try:
        data = shelf.read(seq)
    except OSError:
        data = None
    if data is None:
        return replace(info, records=seq, head="")
    record = judge(seq, data)
    if isinstance(record, str):
        return replace(info, records=seq, head=digest(data))
    return note(info, record, digest(data))


def _numbers_aside(folder: Path) -> Sequence[int]:
    try:
        names = os.listdir(folder / "damaged")
    except OSError:
        return ()
    return [int(head) for name in names if (head := name.partition("-")[0]).isdecimal()]


def _superseded(history: History, after: int) -> bool:
    return any(entry.seq > after for entry in history.entries if isinstance(entry.body, Message))

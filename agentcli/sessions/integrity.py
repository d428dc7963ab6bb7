"""Check and repair of a session's files; nothing is deleted."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

from agentcli.core.codec import decode
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import StoreError
from agentcli.core.message import File, Message, Part, Text, ToolResult
from agentcli.core.record import Failure, InnerCall, Record, Unknown
from agentcli.core.text.words import plural
from agentcli.sessions.checkpoints.objects import CONTENTS, POOL, Inode, damaged_contents, mend_content
from agentcli.sessions.copying import abandoned, remove_abandoned
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.recovery import (
    free_name,
    is_settled,
    leftovers,
    open_session,
    read_info,
    remove_leftovers,
    retrace,
    save_info,
    set_aside,
    vanished,
)
from agentcli.sessions.storage.records import RECALL, Loss, Reader, RecordFolder, Through, number_in
from agentcli.sessions.storage.writer import Lock, is_locked, output_name
from agentcli.system.disk import DISK, Disk, make_folder, reason

_KEPT = re.compile(r"/outputs/([\w-]+\.txt)")
Kind = Literal["damaged", "missing", "unreadable", "chain", "schema", "pairing", "orphan", "leftover", "glance"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a session's files. A notice is harmless: readers of the session cope with it.

    `seq` is the record's number, 0 if no record is affected; `file` is relative to the session's folder.
    """

    kind: Kind
    message: str
    seq: int = 0
    file: str = ""
    notice: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Findings of a check. `repaired` lists the repairs; `busy`: another process writes to the session."""

    session: str
    project: str
    records: int = 0
    problems: tuple[Problem, ...] = ()
    repaired: tuple[str, ...] = ()
    busy: bool = False

    @property
    def ok(self) -> bool:
        """True if nothing was lost or out of order; notices do not count."""
        return all(problem.notice for problem in self.problems)


def report_to_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON data for `sessions check --json`."""
    return {
        "session": report.session,
        "project": report.project,
        "ok": report.ok,
        "records": report.records,
        "busy": report.busy,
        "problems": [
            {
                "kind": problem.kind,
                "seq": problem.seq or None,
                "file": problem.file or None,
                "severity": "notice" if problem.notice else "error",
                "message": problem.message,
            }
            for problem in report.problems
        ],
        "repaired": list(report.repaired),
    }


def check(folder: Path, *, through: Through = iter, whole: set[Inode] | None = None) -> Report:
    """Read every record of a session and report all faults, changing nothing.

    The records pass `through`, a callback that may show progress. With `whole`, file contents for undo are read too,
    except the inodes in `whole`; intact ones are added to it.
    """
    findings = _look(folder, through, whole)
    busy = is_locked(folder / "lock")
    problems = [problem for problem in findings.problems if not (busy and problem.kind in ("leftover", "glance"))]
    return Report(folder.name, folder.parent.name, findings.records, tuple(problems), busy=busy)


def repair(folder: Path, disk: Disk = DISK, *, through: Through = iter, whole: set[Inode] | None = None) -> Report:
    """Check a session and repair it: damaged files move to `damaged/`, the rest is put in order; nothing is deleted.

    The report lists the faults before the repair. The records pass `through` as in `check`; contents are always read,
    except those in `whole`. Raises SessionBusy if another process has the session open, StoreError if the disk refuses.
    """
    try:
        lock = Lock(folder / "lock")
    except OSError as error:
        raise StoreError(f"Can't repair session {folder.name}: {reason(error)}.") from error
    try:
        findings = _look(folder, through, set() if whole is None else whole)
        done = [*_keep_aside(folder, findings, disk), *_tidy(folder, disk)]
        if findings.problems:
            with contextlib.suppress(OSError):
                save_info(folder, retrace(folder), disk)
    finally:
        lock.release()
    done += _close_open_ends(folder, findings, disk)
    report = Report(folder.name, folder.parent.name, findings.records, tuple(findings.problems))
    return replace(report, repaired=tuple(done))


def unfinished(project: Path, older_than: float, *, mend: bool = False) -> Sequence[Report]:
    """Report leftovers of killed forks and imports in a project's folder.

    With `mend`, remove those started more than `older_than` seconds ago.
    """
    left = abandoned(project)
    gone = remove_abandoned(project, older_than) if mend else ()
    why = "a fork or an import was being built when its process died"
    return [
        Report(
            folder.name,
            project.name,
            problems=(Problem("leftover", why, notice=True),),
            repaired=("never finished: removed",) if folder in gone else (),
        )
        for folder in left
    ]


@dataclasses.dataclass
class _Findings:
    """Results of reading the whole session, newest record first."""

    records: int = 0
    newest: int = 0
    problems: list[Problem] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    orphans: list[Path] = field(default_factory=list)
    contents: list[tuple[Path, str]] = field(default_factory=list)
    """Damaged contents for undo, each with its fault."""
    outputs: set[str] = field(default_factory=set)
    welcome: set[str] = field(default_factory=set)
    """Names of outputs that need no result: of large input, and of commands that continued in the background."""
    answers: dict[str, int] = field(default_factory=dict)
    last_message: int = 0


def _look(folder: Path, through: Through, whole: set[Inode] | None) -> _Findings:
    found = _Findings()
    shelf = RecordFolder(folder / "records")
    numbers = shelf.numbers()
    newest = numbers[-1] if numbers else 0
    info = read_info(folder)
    found.newest = max(newest, info.records if info else 0)
    decode.expect(len(numbers))
    with shelf.held_open() as opened:
        reader = Reader(opened, info.head if info and info.records == newest else "")
        for record in through(reader.down(newest)):
            found.records += 1
            _look_at(record, found)
    gone = vanished(newest, info) if info else ()
    found.contents = [] if whole is None else list(damaged_contents(folder / CONTENTS, whole))
    contents = [Loss(0, f"a content for /undo, {path.name[:8]}…, {why}", path) for path, why in found.contents]
    losses = [*reader.losses, *_duplicates(shelf), *gone, *_no_files(folder), *contents]
    found.losses = [loss for loss in losses if not is_settled(folder, loss)]
    found.problems += _from_losses(folder, found.losses)
    doubts = [doubt for doubt in reader.doubts if not is_settled(folder, doubt)]
    found.losses += doubts
    found.problems += [Problem("chain", doubt.why, doubt.seq) for doubt in doubts]
    found.problems += _unpaired(found, lost=bool(reader.losses))
    found.problems += _orphaned(folder, found)
    found.problems += _left_over(folder)
    found.problems += _glance(folder, info, newest)
    return found


def _look_at(record: Record, found: _Findings) -> None:
    body = record.body
    match body:
        case Message():
            found.welcome.update(output_name(call.call_id) for call in body.calls)
            found.welcome.update(name for part in body.parts for name in _names_in(part))
            for call in body.calls:
                if found.answers.pop(call.call_id, None) is None and found.last_message:
                    why = f"call {call.call_id} in record {record.seq} has no result; the model is told it was interrupted"
                    found.problems.append(Problem("pairing", why, record.seq, notice=True))
            found.last_message = found.last_message or record.seq
        case ToolResult():
            if body.call_id in found.answers:
                why = f"call {body.call_id} has a second result; the first one counts"
                found.problems.append(Problem("pairing", why, found.answers[body.call_id], notice=True))
            found.answers[body.call_id] = record.seq
            if body.output_file:
                found.outputs.add(Path(body.output_file).name)
        case InnerCall(_, call, result):
            found.welcome.add(output_name(call.call_id))
            if result.output_file:
                found.outputs.add(Path(result.output_file).name)
        case Unknown(kind):
            why = f"record {record.seq} is of the kind {kind!r}, which this version skips"
            found.problems.append(Problem("schema", why, record.seq, notice=True))
        case _:
            pass


def _names_in(part: Part) -> Sequence[str]:
    """Return the names of output files in a text."""
    return _KEPT.findall(part.text) if isinstance(part, Text | File) else ()


def _from_losses(folder: Path, losses: Iterable[Loss]) -> Iterator[Problem]:
    for loss in losses:
        file = str(loss.file.relative_to(folder)) if loss.file else ""
        yield Problem(loss.cause, loss.why, loss.seq, file)


def _duplicates(shelf: RecordFolder) -> Iterator[Loss]:
    """Yield second files with a number that is taken, and files that are not records."""
    try:
        names = sorted(os.listdir(shelf.folder))
    except OSError:
        return
    for seq, (first, *others) in sorted(shelf.files().items()):
        for name in others:
            yield Loss(seq, f"record {seq} is there twice: {first} counts, {name} does not", shelf.folder / name)
    for name in names:
        if number_in(name) is None and not name.startswith("."):
            yield Loss(0, f"{name} is not a record", shelf.folder / name)


def _no_files(folder: Path) -> Iterator[Loss]:
    """Yield folders in the place of a file that is rewritten; no file can replace a folder."""
    for name in ("session.json", "origin.json", "partial.json"):
        if (folder / name).is_dir():
            yield Loss(0, f"{name} is not a file", folder / name)


def _unpaired(found: _Findings, lost: bool) -> Iterator[Problem]:
    for call, seq in found.answers.items():
        why = f"record {seq} answers call {call}, which no message asks for; it is not shown to the model"
        yield Problem("pairing", why, seq, notice=lost)


def _orphaned(folder: Path, found: _Findings) -> Iterator[Problem]:
    there = {path.name: path for path in (folder / "outputs").glob("*.txt")}
    found.orphans = [there[name] for name in sorted(there.keys() - found.outputs - found.welcome)]
    for path in found.orphans:
        yield Problem("orphan", f"outputs/{path.name} belongs to no record", file=f"outputs/{path.name}", notice=True)
    for name in sorted(found.outputs - there.keys()):
        yield Problem(
            "orphan", f"outputs/{name} is missing; its result has only the part that the model saw", notice=True
        )


def _left_over(folder: Path) -> Iterator[Problem]:
    for each in (folder, folder / "records", folder / "outputs", folder / RECALL):
        for path in leftovers(each):
            why = f"{path.name} was being written when its process died"
            yield Problem("leftover", why, file=str(path.relative_to(folder)), notice=True)
    if (folder / "partial.json").exists():
        why = "a reply was streaming when its process died; it becomes a record when the session is opened"
        yield Problem("leftover", why, file="partial.json", notice=True)


def _glance(folder: Path, info: SessionInfo | None, newest: int) -> Iterator[Problem]:
    if info is None:
        # The first record is written before session.json: a process killed in between leaves no session.json.
        missing = not (folder / "session.json").exists()
        why = f"session.json is {'missing' if missing else 'damaged'}; it is rebuilt from the records"
        yield Problem("glance", why, file="session.json", notice=missing)
    elif info.records > newest and not vanished(newest, info):
        why = f"session.json knows of {info.records:,} records, and there are {newest:,}; it is rebuilt from them"
        yield Problem("glance", why, file="session.json")
    elif info.records < newest:
        why = (
            f"session.json stops at record {info.records} of {newest}; it is caught up with when the session is opened"
        )
        yield Problem("glance", why, file="session.json", notice=True)


def _keep_aside(folder: Path, findings: _Findings, disk: Disk) -> Sequence[str]:
    set_aside(folder, findings.losses, disk)
    done = [f"{loss.why}: kept in damaged/" for loss in findings.losses if loss.file and not loss.file.exists()]
    for path in findings.orphans:
        with contextlib.suppress(OSError):
            make_folder(disk, folder / "damaged")
            disk.rename(path, free_name(folder / "damaged" / path.name))
            done.append(f"outputs/{path.name} belonged to no record: kept in damaged/")
    for path, _ in findings.contents:
        with contextlib.suppress(OSError):
            if mend_content(path, folder.parent / POOL, disk):
                done.append(f"a content for /undo, {path.name[:8]}…, was replaced by what another session keeps")
    return done


def _tidy(folder: Path, disk: Disk) -> Sequence[str]:
    return [f"{path.name} was never finished: removed" for path in remove_leftovers(folder, disk)]


def _close_open_ends(folder: Path, findings: _Findings, disk: Disk) -> Sequence[str]:
    """Open the session for writing, which ends open calls and replies; report the losses in a separate record."""
    session = open_session(folder, disk)
    try:
        done = list(session.notes)
        ended = session.info.records - findings.newest
        if ended > 0:
            done.append(f"what was left open was ended in {plural(ended, 'new record')}")
        lost = [loss.why for loss in findings.losses if loss.cause != "unreadable"]
        if lost:
            record = session.append(Failure("; ".join(lost), "sessions check"))
            if not session.unsaved:
                done.append(f"what was lost is said in record {record.seq}")
    finally:
        session.close()
    return done

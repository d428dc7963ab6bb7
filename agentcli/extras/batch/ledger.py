"""Ledger of a batch. Each change of state is a line, appended and synced. Folding all lines gives the state of every
task.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass

State = Literal[
    "new", "running", "passed", "failed", "limited", "waiting", "held", "lost", "error", "stopped", "duplicate"
]
FINAL: frozenset[State] = frozenset({"passed", "failed", "limited"})
"""States that an attempt keeps unless a retry is requested."""
DIED = "Its driver ended before it."
"""Reason for a start that stopped without a request."""
_PREFIX, _SUFFIX = "ledger-", ".jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One change of state of one attempt at a task. `token` identifies its start; `cost` is the cost of this start in
    USD.

    `t` is in seconds since the epoch. `worktree` is its folder. `over` is true if another attempt would not help.
    """

    id: str
    attempt: int
    token: str
    state: State
    t: float = 0.0
    session: str = ""
    cost: float = 0.0
    commit: str = ""
    check: int | None = None
    seconds: float = 0.0
    patch_lines: int = 0
    text: str = ""
    why: str = ""
    worktree: str = ""
    over: bool = False
    exit: int | None = None
    tries: int = 0
    """Ends of this attempt without a result: waits, losses, failed set-ups."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens of its session by kind, earlier starts included."""
    turns: int = 0
    """Requests to the model in this start, unless its agent was killed."""
    round: int = 0
    """Number of requested repetitions of the task; only the attempts of the last round count."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """State of a task: the counting start, the cost of all starts, and the cost of its session, in USD.

    `attempts` maps each attempt number of the last round to its own state.
    """

    newest: Row
    cost: float = 0.0
    session_cost: float = 0.0
    attempts: Mapping[int, TaskState] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """State of the attempt that counts."""
        return self.newest.state


class Ledger:
    """Ledger of one driver: a file that only it writes. `clock` returns seconds since the epoch."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / f"{_PREFIX}{socket.gethostname()}-{os.getpid()}{_SUFFIX}"
        self._clock = clock

    def write(self, row: Row) -> Row:
        """Append a row and sync it; return the row with its time.

        Raise OSError if it cannot be written completely; then nothing of it stays.
        """
        row = replace(row, t=self._clock())
        line = json.dumps({name: value for name, value in asdict(row).items() if value not in ("", None, {})}) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        before = os.fstat(file).st_size
        try:
            if os.write(file, line.encode("ascii")) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
            os.fsync(file)
        except OSError:
            os.ftruncate(file, before)
            raise
        finally:
            os.close(file)
        return row


def rows(folder: Path) -> Iterator[Row]:
    """Yield all rows of all ledgers, in no particular order, without incomplete lines."""
    for path in _ledgers(folder):
        yield from _rows_of(path)


def present_rows(folder: Path) -> Sequence[Row]:
    """Return all rows, oldest first, corrected for now: a running start whose local driver has ended is `stopped`."""
    found = [(row, path) for path in _ledgers(folder) for row in _rows_of(path)]
    found.sort(key=lambda each: _moment(each[0]))
    last = {(row.id, row.attempt, row.token): row for row, _ in found}
    gone = {path for path in {path for _, path in found} if _has_ended(path)}
    return [
        replace(row, state="stopped", why=DIED)
        if row.state == "running" and path in gone and last[row.id, row.attempt, row.token] is row
        else row
        for row, path in found
    ]


def _ledgers(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob(f"{_PREFIX}*{_SUFFIX}"))


def _rows_of(path: Path) -> Iterator[Row]:
    return filter(None, map(parsed, path.read_bytes().split(b"\n")))


def _has_ended(path: Path) -> bool:
    """Return True if the driver that wrote this ledger ran on this machine and has ended."""
    host, _, process = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX).rpartition("-")
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


def parsed(line: bytes) -> Row | None:
    """Return the row of a line; None for an incomplete line."""
    try:
        raw: Mapping[str, Any] = json.loads(line)
        known = {each.name for each in fields(Row)}
        return Row(**{name: value for name, value in raw.items() if name in known})
    except (ValueError, TypeError, AttributeError):
        return None


def accepted(row: Row, known: Iterable[Row]) -> Row:
    """Return the row to record. A second result of an attempt, from a start that was considered dead, becomes a
    `duplicate`.
    """
    for former in known:
        same = (former.id, former.attempt, former.round) == (row.id, row.attempt, row.round)
        if same and row.state in FINAL and former.state in FINAL and former.token != row.token:
            return replace(row, state="duplicate", why=f"The start {former.token} had its result before.")
    return row


def fold(found: Iterable[Row]) -> Mapping[str, TaskState]:
    """Return the state of each task, independent of the order of rows.

    For each start the last row counts, but a final state never changes. For each attempt the first final start counts.
    Of several attempts an unfinished one counts, else the passed one with the smallest patch, then the least cost.
    """
    by_task: dict[str, list[Row]] = {}
    for row in sorted(found, key=_moment):
        by_task.setdefault(row.id, []).append(row)
    return {id: _state(mine) for id, mine in by_task.items()}


def _state(found: Iterable[Row]) -> TaskState:
    """Return the state of one task, whose rows come in order of time."""
    starts: dict[tuple[int, str], Row] = {}
    for row in found:
        key = (row.attempt, row.token)
        if key not in starts or starts[key].state not in FINAL:
            starts[key] = row
    last = max(row.round for row in starts.values())
    attempts: dict[int, Row] = {}
    for row in sorted(starts.values(), key=_moment):
        known = attempts.get(row.attempt)
        if row.round == last and (known is None or known.state not in FINAL):
            attempts[row.attempt] = row
    costs = {number: sum(row.cost for row in starts.values() if row.attempt == number) for number in sorted(attempts)}
    sessions: dict[str, float] = {}
    for row in starts.values():
        sessions[row.session] = sessions.get(row.session, 0.0) + row.cost
    own = {number: TaskState(attempts[number], costs[number], sessions[attempts[number].session]) for number in costs}
    counts = _counting([*own.values()]).newest
    return TaskState(counts, sum(row.cost for row in starts.values()), sessions[counts.session], own)


def _counting(attempts: Sequence[TaskState]) -> TaskState:
    """Return the attempt that decides the state of the task."""
    passed = [each for each in attempts if each.state == "passed"]
    done = FINAL if not passed else FINAL | {"lost", "error"}
    unfinished = [each for each in attempts if each.state not in done]
    if unfinished or not passed:
        return (unfinished or attempts)[-1]
    return min(passed, key=lambda each: (each.newest.patch_lines, each.cost, each.newest.attempt))


def _moment(row: Row) -> tuple[Any, ...]:
    """Return a key that sorts rows by time; rows with equal times have a fixed order."""
    return row.t, row.state in FINAL, row.attempt, row.token, row.state, row.cost

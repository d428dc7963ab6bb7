"""Ledger of a batch: a line for each change of state, appended and synced; the state of every task is a fold over all lines."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass

State = Literal["new", "running", "passed", "failed", "limited", "waiting", "held", "lost", "error", "stopped"]
FINAL: frozenset[State] = frozenset({"passed", "failed", "limited"})
"""States in which an attempt stays unless it is asked for again."""
_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One change of state of one attempt at a task. `token` names this start of it; `cost` is what this start has spent, in USD.

    `t` is the time in seconds since the epoch. `worktree` is where it works. `over` is true where no other attempt would help.
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
    """Ends of this attempt that were no result: waits, losses, failed set-ups."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task: the start that counts, what all of them have cost, and what its session has."""

    newest: Row
    cost: float = 0.0
    session_cost: float = 0.0

    @property
    def state(self) -> State:
        """The state of the newest attempt."""
        return self.newest.state


class Ledger:
    """The ledger of one driver: a file that nobody else writes. `clock` returns seconds since the epoch."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / f"ledger-{socket.gethostname()}-{os.getpid()}{_SUFFIX}"
        self._clock = clock

    def write(self, row: Row) -> Row:
        """Append a row and sync it; the row with its time."""
        row = replace(row, t=self._clock())
        line = json.dumps({name: value for name, value in asdict(row).items() if value not in ("", None)}) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, line.encode("ascii"))
            os.fsync(file)
        finally:
            os.close(file)
        return row


def rows(folder: Path) -> Iterator[Row]:
    """All rows of all ledgers, in no particular order. A line that was cut off is passed over."""
    for path in sorted(folder.glob(f"ledger-*{_SUFFIX}")):
        for line in path.read_bytes().split(b"\n"):
            row = _parsed(line)
            if row is not None:
                yield row


def fold(found: Iterable[Row]) -> Mapping[str, TaskState]:
    """The state of each task, whatever the order of the rows.

    Of each start the last word counts, but a final one is never taken back; of each attempt the first final start counts.
    """
    starts: dict[tuple[str, int, str], Row] = {}
    for row in sorted(found, key=lambda row: (row.t, row.state in FINAL)):
        key = (row.id, row.attempt, row.token)
        if key not in starts or starts[key].state not in FINAL:
            starts[key] = row
    tasks: dict[str, TaskState] = {}
    ordered = sorted(starts.values(), key=lambda row: (row.attempt, row.t))
    by_task: dict[str, list[Row]] = {}
    for row in ordered:
        by_task.setdefault(row.id, []).append(row)
    for row in ordered:
        known = tasks.get(row.id)
        settled = known is not None and known.newest.attempt == row.attempt and known.state in FINAL
        counts = known.newest if known is not None and (settled or known.state == "passed") else row
        mine = by_task[row.id]
        tasks[row.id] = TaskState(
            counts,
            sum(each.cost for each in mine),
            sum(each.cost for each in mine if each.session == counts.session),
        )
    return tasks


def _parsed(line: bytes) -> Row | None:
    try:
        raw: Mapping[str, Any] = json.loads(line)
        known = {each.name for each in fields(Row)}
        return Row(**{name: value for name, value in raw.items() if name in known})
    except (ValueError, TypeError, AttributeError):
        return None

"""The tool context of a session: its services behind a narrow port, so that tools stay stateless."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agentcli.agent.calls.call import PrintedEvents
from agentcli.core.event import Recorded, ToolProgress
from agentcli.core.families import LineNumbers
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.record import Body, Todo, TodoItem
from agentcli.core.tool import CallScope, Service, ToolLimits
from agentcli.permissions.paths import Workspace

if TYPE_CHECKING:
    from agentcli.core.text.passage import Mark, Needles, Passage

Offer = tuple[type, object]
"""A service, by the type that its tools ask for."""


def offer(kind: type[Service], service: Service) -> Offer:
    """Return a service by the type that its tools ask for; type-checked."""
    return kind, service


class SessionToolContext:
    """The tool context of one open session. `printed` gets the output of running tools. Its services are added before the first call."""

    def __init__(self, workspace: Workspace, journal: Journal, limits: ToolLimits, printed: PrintedEvents) -> None:
        self.cwd = workspace.cwd
        self.roots = workspace.resolved_roots
        self.env = workspace.command_env
        self.limits = limits
        self.scope = CallScope()
        self._journal, self._printed = journal, printed
        self._services: dict[type, object] = {}

    def add(self, services: Iterable[Offer]) -> None:
        """Add services to all calls of the session."""
        self._services.update(services)

    def service(self, kind: type[Service]) -> Service | None:
        """Return the service of a type; None if the session has none."""
        return cast("Service | None", self._services.get(kind))

    def for_call(self, scope: CallScope, line_numbers: LineNumbers | None = None) -> SessionToolContext:
        """Return a copy for one call; without `line_numbers` files are numbered as the settings say."""
        ctx = copy(self)
        ctx.scope = scope
        ctx.cwd = scope.folder or self.cwd
        if line_numbers is not None:
            ctx.limits = replace(self.limits, line_numbers=line_numbers)
        return ctx

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return the path that the model is told."""
        return self._journal.keep_output(call_id, output, ending)

    def progress(self, call_id: str, text: str) -> None:
        """Show the output of a running call."""
        self._printed.add(ToolProgress(call_id, text))


class SessionTodo:
    """The list of a session: a fold of its records. `printed` shows each change."""

    def __init__(self, journal: Journal, record: Callable[[Body], Recorded], printed: PrintedEvents) -> None:
        self._journal, self._record, self._printed = journal, record, printed

    def todo(self) -> tuple[TodoItem, ...]:
        """Return the current list."""
        return self._journal.history.todo

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace, record and show the list."""
        self._printed.add(self._record(Todo(tuple(items))))


class SessionPassages:
    """The text of a session and of its predecessor, which was handed off to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """Yield the passages of this session's records up to number `newest` that may contain the needles, and of this call, newest first."""
        return _passages(self._journal, needles, call_id, newest, until)

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first, each with the terms that it may hold."""
        return _marks(self._journal, terms, newest, until)

    def passages_of(self, mark: Mark) -> Sequence[Passage]:
        """Return the passages of a marked record; none if it cannot be read."""
        return _passages_of(self._journal, mark.seq, mark.turn)

    def index(self) -> Iterator[float]:
        """Complete this session's index, then the index of its predecessor."""
        journal: Journal | None = self._journal
        while journal is not None:
            yield from journal.index()
            journal = journal.predecessor.journal if journal.predecessor else None


def _passages(journal: Journal, needles: Needles, call_id: str, newest: int | None, until: float) -> Iterator[Passage]:
    """Yield the passages of a session, then the predecessor's passages, numbered below 1; the predecessor was handed off to it."""
    from agentcli.core.text.passage import OutOfTime, passages

    if newest is None or newest > 0:
        for entry in journal.candidates(needles, call_id, newest, until):
            found = passages(entry, journal.output)
            yield from (passage for passage in found if call_id in ("", passage.call_id))
    former = journal.predecessor
    if former is None:
        return
    try:
        for passage in _passages(former.journal, needles, call_id, _last(former, newest), until):
            yield replace(passage, seq=former.number(passage.seq))
    except OutOfTime as left:
        raise OutOfTime(former.number(left.seq)) from None


def _marks(journal: Journal, terms: Sequence[str], newest: int | None, until: float) -> Iterator[Mark]:
    """Yield the marks of a session, then its predecessor's marks, numbered below 1."""
    from agentcli.core.text.passage import OutOfTime

    if newest is None or newest > 0:
        yield from journal.marks(terms, newest, until)
    former = journal.predecessor
    if former is None:
        return
    try:
        for mark in _marks(former.journal, terms, _last(former, newest), until):
            yield replace(mark, seq=former.number(mark.seq))
    except OutOfTime as left:
        raise OutOfTime(former.number(left.seq)) from None


def _passages_of(journal: Journal, seq: int, turn: int) -> Sequence[Passage]:
    from agentcli.core.text.passage import Entry, passages

    former = journal.predecessor if seq < 0 else None
    if former is not None:
        found = _passages_of(former.journal, seq + former.until + 1, turn)
        return tuple(replace(passage, seq=former.number(passage.seq)) for passage in found)
    record = journal.record(seq)
    return tuple(passages(Entry(record, turn), journal.output)) if record else ()


def _last(former: Predecessor, newest: int | None) -> int:
    """Return the number in a former session of the record `newest`, or of its last one."""
    return former.until if newest is None or newest >= 0 else former.until + 1 + newest

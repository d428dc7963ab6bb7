"""Services of a session for its tools.

These are the list, the text so far, the end of plan mode, and questions about fetched pages.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.agent.calls.call import PrintedEvents
from agentcli.agent.core import SessionCore
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError
from agentcli.core.event import Recorded, UsageReported
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.message import Usage
from agentcli.core.record import Body, Settings, Todo, TodoItem
from agentcli.core.subagent_result import spending
from agentcli.resources import prompt
from agentcli.tools.web_fetch import PageAnswer

if TYPE_CHECKING:
    from agentcli.core.text.passage import Mark, Needles, Passage

SHOWN = 200_000
"""Maximum characters of a page that the model sees: its beginning and its end."""
CHARACTERS = 3
"""Minimum characters of a token: limits how much of a page is sent to a model with a small window."""
REPLY = 2_000
"""Tokens that it may answer with."""


class SessionTodo:
    """Todo list of a session: a fold of its records. `printed` shows each change."""

    def __init__(self, journal: Journal, record: Callable[[Body], Recorded], printed: PrintedEvents) -> None:
        self._journal, self._record, self._printed = journal, record, printed

    def todo(self) -> tuple[TodoItem, ...]:
        """Return the current list."""
        return self._journal.history.todo

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace, record and show the list."""
        self._printed.add(self._record(Todo(tuple(items))))


class SessionPassages:
    """Texts of a session and of its predecessor, which was handed off to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """Yield the passages of this session's records that may contain the needles, newest first.

        `newest` is the number of the last record to search. `call_id` limits the search to one call.
        """
        return _passages(self._journal, needles, call_id, newest, until)

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        """Yield the records up to number `newest` that have texts, newest first, each with the terms that it may
        contain.
        """
        return _marks(self._journal, terms, newest, until)

    def passages_of(self, mark: Mark) -> Sequence[Passage]:
        """Return the passages of a marked record; none if it is unreadable."""
        return _passages_of(self._journal, mark.seq, mark.turn)

    def index(self) -> Iterator[float]:
        """Complete this session's index, then the index of its predecessor."""
        journal: Journal | None = self._journal
        while journal is not None:
            yield from journal.index()
            journal = journal.predecessor.journal if journal.predecessor else None


class PlanMode:
    """Plan mode of a session."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    @property
    def compacts(self) -> bool:
        """True if the person wants the conversation compacted before the plan is carried out."""
        return self._core.approval.compacts_plan

    async def leave_plan(self, plan: str) -> bool:
        """Leave plan mode after the person approved the plan, for the mode chosen with it. Return False outside of plan mode."""
        approval = self._core.approval
        if approval.mode != "plan":
            return False
        approval.mode = approval.after_plan
        self._core.record(Settings("", approval.mode))
        return True


class PageReader:
    """Answers questions about pages; the usage of each answer is printed as an event."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._seconds = core.setup.settings.limits.fetch_answer_seconds

    async def answer(self, question: str, page: str) -> PageAnswer:
        """Return the model's answer, or why it failed.

        Raises no AgentError, because the page itself can still be read.
        """
        from agentcli.agent.compaction.summariser import Summariser
        from agentcli.core.text.truncate import truncate_middle

        try:
            model = self._core.setup.models.summariser(self._core.model)
        except AgentError as error:
            return PageAnswer(trouble=str(error))
        summariser = Summariser(model, calls=1, longest=REPLY)
        excerpt = truncate_middle(page, max(1, min(SHOWN, summariser.room * CHARACTERS)))
        text = f"{wrap('page', excerpt)}\n{wrap('question', question)}"
        forbidden = await self._core.objection(model.spec, len(text) // CHARACTERS)
        if forbidden:
            return PageAnswer(trouble=forbidden)
        request = replace(summariser.request([prompt("page.md")], text), options={"thinking": False})
        answer = trouble = ""
        try:
            async with asyncio.timeout(self._seconds):
                answer = await summariser.ask(request)
        except TimeoutError:
            trouble = f"{model.spec.name} took longer than {self._seconds:g} s."
        except AgentError as error:
            trouble = str(error)
        for event in summariser.news():
            self._core.printed.add(replace(event, kind="page") if isinstance(event, UsageReported) else event)
        spent = (
            spending(model.spec.name, summariser.usage, summariser.cost, "pages") if summariser.usage != Usage() else {}
        )
        return PageAnswer(answer.strip(), trouble, model.spec.name, spent)


def _passages(journal: Journal, needles: Needles, call_id: str, newest: int | None, until: float) -> Iterator[Passage]:
    """Yield the passages of a session, then its predecessor's, numbered below 1; the predecessor was handed off to it."""
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
    """Yield the marks of a session, then its predecessor's, numbered below 1."""
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

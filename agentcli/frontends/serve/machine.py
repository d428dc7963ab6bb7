"""Sessions of this machine: their states, and the events of one of them, shared or only stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import InputError
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Record
from agentcli.core.streams import closing
from agentcli.core.text.markdown import words
from agentcli.core.text.secrets import known_secrets
from agentcli.core.text.words import plural
from agentcli.frontends.run.events import to_json
from agentcli.frontends.run.results import record_events
from agentcli.frontends.serve import client
from agentcli.frontends.serve.client import Heard, heard
from agentcli.frontends.serve.registry import Registration, registration, registrations
from agentcli.program.project import Project
from agentcli.sessions.exporting.redactor import Redactor
from agentcli.sessions.exporting.transcript import cleaned
from agentcli.sessions.info import SessionInfo, Summary
from agentcli.sessions.storage.writer import holder
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import glance, is_subagent

State = Literal["works", "waits", "idle", "ended", "done", "failed", "stopped"]
"""Only a background session is done, failed or stopped: the others end with their program."""
OVER = ("done", "failed", "ended", "stopped")
"""States of a background session without a process."""
WORDS = 200
"""Characters of the newest answer that are listed."""
_LOOKED_AT = 40
"""Newest records in which an answer is searched."""
POLL = 0.5
"""Seconds between two looks at a stored session."""


@dataclass(frozen=True, slots=True)
class Running:
    """A session that a program has open, or a background session that has ended.

    The state of an open one is certain if it is `shared`.
    """

    session: str
    name: str
    title: str
    folder: str
    state: State
    cost: float | None
    last: str
    pid: int
    shared: bool
    updated: str
    model: str = ""
    tokens: int = 0
    doing: str = ""
    """The running call, or a command in the background."""
    words: str = ""
    """The end of the reply that arrives."""
    seconds: float | None = None
    """Time since the turn began, or since it waits for an answer."""
    questions: Sequence[Mapping[str, Any]] = ()
    background: bool = False
    worktree: str = ""
    changes: str = ""
    """Files and lines that it has changed."""
    error: str = ""

    @property
    def says(self) -> str:
        """What it asks, does or said last, in one line."""
        if self.questions:
            asked = self.questions[0]
            several = asked["kind"] == "questions"
            return str(asked["questions"][0]["question"] if several else asked["subject"] or asked["title"])
        if self.state == "works":
            return self.doing or self.words.strip().rpartition("\n")[2] or self.last or "starts"
        return self.error or self.doing or self.last or self.title

    def to_json(self) -> Mapping[str, Any]:
        """Return it as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class Machine:
    """Sessions of a store, and shared ones. Texts pass `clean`, which removes secrets."""

    def __init__(self, store: Store, state: Path, clean: Callable[[str], str], name: str = "another program") -> None:
        self.store, self._state, self.clean, self.name = store, state, clean, name

    def shared(self, session: str) -> Registration | None:
        """Return how to reach a session; None if it is not shared."""
        return registration(self._state, session)

    def named(self, selector: str) -> SessionInfo:
        """Return a session by id, unique prefix or name; a shared session without messages only by its id.

        Raises InputError.
        """
        try:
            return self.store.find(selector)
        except InputError:
            if self.shared(selector) is None:
                raise
            return SessionInfo(selector, "", "")

    def found(self, session: str) -> SessionInfo:
        """Return a session by its whole id. Raises InputError."""
        info = self.named(session)
        if info.id != session:
            raise InputError("This is not the id of a session.")
        return info

    async def running(self) -> Sequence[Running]:
        """Return the sessions that programs have open, last used first."""
        shared = {found.session: found for found in registrations(self._state)}
        found_open = await asyncio.to_thread(self.store.opened, shared)  # it looks at thousands of folders
        opened = [info for info in found_open if not is_subagent(info)]
        fresh = [found for session, found in shared.items() if session not in {info.id for info in opened}]
        return [
            *[await self._unwritten(found) for found in fresh],
            *await asyncio.gather(*(self._row(info, shared.get(info.id)) for info in opened)),
        ]

    async def state_of(self, info: SessionInfo) -> State:
        """Return the state of a session."""
        return (await self._row(info, self.shared(info.id))).state

    async def _row(self, info: SessionInfo, found: Registration | None) -> Running:
        told: Mapping[str, Any] = {}
        if found is not None:
            try:
                told = await client.request(found, self.name, do="state")
            except client.Gone:
                found = None
        made = self.stored(info, told.get("state") or guessed(self.store, info))
        if found is None:
            return replace(made, pid=_number(holder(self.store.folder(info) / "lock")))
        return replace(made, pid=found.pid, shared=True, **_live(told))

    def stored(self, info: SessionInfo, state: State) -> Running:
        """Return a session as it is stored, in this state."""
        return Running(
            info.id,
            self.clean(info.name),
            self.clean(info.title),
            info.directory,
            state,
            info.cost,
            self.clean(last_words(self.store, info)),
            0,
            False,
            info.time.updated,
            info.model,
            info.usage.total,
            changes=_changes(info.summary),
        )

    async def _unwritten(self, found: Registration) -> Running:
        """Return a shared session that has no record yet."""
        try:
            told = await client.request(found, self.name, do="state")
        except client.Gone:
            told = {}
        folder, state = str(told.get("folder", "")), told.get("state", "idle")
        made = Running(found.session, "", "", folder, state, None, "", found.pid, True, "")
        return replace(made, **_live(told))

    async def request(self, session: str, **asked: Any) -> Mapping[str, Any]:
        """Send a request to a shared session. Raises InputError if it is not shared, Gone if it does not answer."""
        found = self.shared(session)
        if found is None:
            raise InputError(f"Session {session} is not shared. `/remote on` in its terminal shares it.")
        return await client.request(found, self.name, **asked)

    async def follow(self, info: SessionInfo, after: str = "") -> AsyncIterator[Sequence[Heard]]:
        """Yield a session's events as they come, several at once.

        They are its program's, or those of its records if it is not shared.
        """
        found = self.shared(info.id)
        if found is None:
            async with closing(self._stored(info, after)) as batches:
                async for batch in batches:
                    yield batch
            return
        with contextlib.suppress(client.Gone):
            async with closing(client.follow(found, self.name, after)) as batches:
                async for batch in batches:
                    yield batch
        yield [heard("", {"type": "ended", "session": info.id})]

    async def _stored(self, info: SessionInfo, after: str) -> AsyncIterator[Sequence[Heard]]:
        """Yield the events of new records until the session is shared; ids are `disk-RECORD-EVENT`."""
        seq, number = place_of(after, self._newest(info))
        while self.shared(info.id) is None:
            for record in self.records(info, seq):
                items = [item for item in items_of(record, self.clean) if (record.seq, item["number"]) > (seq, number)]
                if items:
                    yield [heard(f"disk-{record.seq}-{item['number']}", item["event"]) for item in items]
                seq, number = record.seq, 1_000_000
            await asyncio.sleep(POLL)
        yield [heard("", {"type": "reload"})]

    def _newest(self, info: SessionInfo) -> int:
        return newest_info(self.store, info).records

    def records(self, info: SessionInfo, after: int = 0) -> Iterator[Record]:
        """Yield a session's records after a number, including those written just now."""
        fresh = newest_info(self.store, info)
        if fresh.records > after:
            yield from records_after(self.store, fresh, after)


def _live(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that only a session's program knows."""
    if not told:
        return {}
    return {
        "folder": told["folder"],
        "cost": told.get("cost"),
        "tokens": told.get("tokens", 0),
        "doing": told.get("doing") or "".join(f"in the background: {job}" for job in told.get("jobs", ())[:1]),
        "words": told.get("partial", {}).get("text", "")[-WORDS:],
        "seconds": told.get("seconds"),
        "questions": told.get("questions", ()),
    }


def _changes(summary: Summary) -> str:
    """Return the size of a session's changes; empty without any."""
    if not summary.files:
        return ""
    return f"{plural(summary.files, 'file')} +{summary.additions} −{summary.deletions}"


def machine_of(project: Project, name: str) -> Machine:
    """Return the sessions of a project's user on this machine; `name` is how sessions see the client."""
    return Machine(project.store, project.dirs.state, Redactor(known_secrets(project.env)), name)


def newest_info(store: Store, info: SessionInfo) -> SessionInfo:
    """Return the summary of a session as it is now."""
    return glance(store.folder(info)) or info


def records_after(store: Store, info: SessionInfo, after: int) -> Iterator[Record]:
    """Yield the readable records of a session after a number, oldest first."""
    session = store.reader(info)
    for seq in range(after + 1, info.records + 1):
        record = session.record(seq)
        if record is not None:
            yield record


def newest_records(store: Store, info: SessionInfo) -> Iterator[Record]:
    """Yield the readable records of a session, newest first."""
    session = store.reader(info)
    return (record for seq in range(info.records, 0, -1) if (record := session.record(seq)) is not None)


def last_words(store: Store, info: SessionInfo) -> str:
    """Return the beginning of the newest answer, in one line."""
    for record in islice(newest_records(store, info), _LOOKED_AT):
        if isinstance(record.body, Message) and record.body.role == "assistant" and record.body.text.strip():
            return words(record.body.text[: 2 * WORDS])[:WORDS]
    return ""


def guessed(store: Store, info: SessionInfo) -> State:
    """Guess the state of a session that cannot be queried.

    It works if its newest message waits for an answer.
    """
    if not store.is_open(info):
        return "ended"
    for record in islice(newest_records(store, info), _LOOKED_AT):
        match record.body:
            case Message(role="assistant") as message:
                return "works" if message.calls else "idle"
            case Message() | ToolResult():
                return "works"
            case _:
                pass
    return "idle"


def place_of(cursor: str, newest: int) -> tuple[int, int]:
    """Return the record and event in a stored session's id; by default, the newest."""
    kind, _, rest = cursor.partition("-")
    seq, _, number = rest.partition("-")
    if kind == "disk" and _number(seq) >= 0 and seq and _number(seq) <= newest:
        return _number(seq), _number(number)
    return newest, 1_000_000


def items_of(record: Record, clean: Callable[[str], str]) -> Iterator[Mapping[str, Any]]:
    """Yield `{"number": …, "event": …}` for each event of a record, as its program reports them."""
    number = 0
    for number, event in enumerate(record_events(record, record.time), 1):
        yield {"number": number, "event": {**cleaned(to_json(event), clean), "seq": record.seq}}
    if not number and record.kind in ("undo", "compaction", "prune"):
        yield {"number": 1, "event": {"type": "record", "kind": record.kind, "seq": record.seq}}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0

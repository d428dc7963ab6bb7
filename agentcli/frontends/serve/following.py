"""Follow one session as long as a reader wants.

Each event comes once and in order, despite lost connections, gaps and restarts of the session's program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agentcli.core.errors import AgentError
from agentcli.core.streams import closing
from agentcli.frontends.serve.client import Heard
from agentcli.frontends.serve.machine import Machine, items_of, newest_info, records_after
from agentcli.sessions.info import SessionInfo

AGAIN = 1.0
"""Seconds between two attempts to reach a session whose program has ended."""
SHOWN = 30
"""Newest records from which a reader begins by default."""
_LAST = 1_000_000
"""A number behind all events of a record."""

Json = Mapping[str, Any]


class Following:
    """Events of a session after a record; by default, after all except the newest.

    Besides the session's own events there is `reloaded`, with its state. It comes after the first records and after
    missed ones. More events follow `ended` once the session is open again. After `moved` the events are those of the
    new session.
    """

    def __init__(self, machine: Machine, info: SessionInfo, after: int | None = None) -> None:
        self.info = info
        self._machine = machine
        self._seen = None if after is None else (after, _LAST)
        """The newest event of a record: the record, and its number there."""
        self._until = 0
        """The newest record that was read from the store: its events may still come."""
        self._cursor = ""

    async def events(self) -> AsyncIterator[Json]:
        """Yield the events without an end."""
        while True:
            async with closing(self._missed()) as missed:
                async for event in missed:
                    yield event
            event = {}
            async with closing(self._heard()) as items:
                async for item in items:
                    event = item.event
                    if event["type"] in ("moved", "reload", "ended"):
                        break
                    self._cursor = item.id
                    if self._is_new(event):
                        yield event
            if event["type"] == "moved":
                self.info, self._seen = self._machine.found(str(event["session"])), None
            if event["type"] != "reload":
                yield event
            if event["type"] == "ended":
                await self._comes_back()

    async def _heard(self) -> AsyncIterator[Heard]:
        async with closing(self._machine.follow(self.info, self._cursor)) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def _missed(self) -> AsyncIterator[Json]:
        """Yield the events of unseen records, then the state from which to continue."""
        state: Json = {}
        if self._machine.shared(self.info.id) is not None:
            with contextlib.suppress(AgentError):
                state = await self._machine.request(self.info.id, do="state")
        self.info = self._machine.found(self.info.id)
        fresh = newest_info(self._machine.store, self.info)
        until = int(state.get("records", fresh.records))
        seq, number = self._seen or (max(0, until - SHOWN), _LAST)
        for record in records_after(self._machine.store, fresh, max(0, seq - 1)):
            if record.seq > until:
                break
            for item in items_of(record, self._machine.clean):
                if (record.seq, item["number"]) > (seq, number):
                    yield item["event"]
        self._seen, self._until = max((seq, number), (until, _LAST)), until
        self._cursor = str(state.get("cursor", "")) or f"disk-{until}-{_LAST}"
        yield {**state, "type": "reloaded"}

    def _is_new(self, event: Json) -> bool:
        """Remember the place of an event; return False if its record was read from the store."""
        seq = int(event.get("seq", 0))
        if 0 < seq <= self._until:
            return False
        if seq:
            known, number = self._seen or (0, 0)
            self._seen = (seq, number + 1 if seq == known else 1)
        return True

    async def _comes_back(self) -> None:
        while self._machine.shared(self.info.id) is None and not self._machine.store.is_open(self.info):  # noqa: ASYNC110 - nothing tells of another process
            await asyncio.sleep(AGAIN)

"""Monitor of the provider's prompt cache: expected and actual cache reads of a session's requests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from agentcli.context.cache_health import health_of
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec, Request
from agentcli.core.record import Record
from agentcli.core.tool import Traits


class CacheMonitor:
    """`health` sums up the cache use of the session's requests so far; `sent` is the newest request of this process.

    `thrash` misses in a row count as thrashing.
    """

    def __init__(self, journal: Journal, model: ModelSpec, tools: Mapping[str, Traits], thrash: int) -> None:
        self.health = health_of(_standing(journal.history), model, tools, thrash)
        self.sent: Request | None = None
        self._journal = journal
        self._sent_at = self._heard_at = 0.0
        self._edits = 0

    def sends(self, request: Request) -> None:
        """Note a request that is sent now."""
        self.sent, self._sent_at = request, time.time()

    def hears(self, usage: Usage) -> None:
        """Update `health` by the usage of the request that was sent."""
        if self.sent is None:
            return
        edits = self._edits_now()
        idle = self._sent_at - self._heard_at if self._heard_at else 0.0
        self.health = self.health.after(self.sent, usage, edited=edits != self._edits, idle=idle)
        self._edits, self._heard_at = edits, self._sent_at

    def expected(self, size: int, lifetime: float) -> Usage:
        """The expected usage of a prompt of `size` tokens; entries of the cache live `lifetime` seconds."""
        cold = not self._heard_at or time.time() - self._heard_at > lifetime
        read = 0 if cold or self._edits != self._edits_now() else min(size, self.health.expected)
        return Usage(input=size - read, cache_read=read)

    def _edits_now(self) -> int:
        """A number that changes when what was sent before is changed."""
        history = self._journal.history
        return len(history.prunes) + (history.compaction.seq if history.compaction else 0)


def _standing(history: History) -> Sequence[Record]:
    """The records that the view is made of, edits included, in their order."""
    newest = [history.compaction] if history.compaction else []
    return sorted((*history.entries, *history.prunes, *newest), key=lambda record: record.seq)

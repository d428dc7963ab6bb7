"""A reply that is still arriving is saved now and then, so that a crash costs less than a second of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from agentcli.agent.draft import Draft
from agentcli.core.message import Part

KEEP_EVERY = 0.5
"""Seconds between two savings; the journal may space them out further, to one a second."""


class Keeping:
    """Gives `stream` what arrived, the last of it too when nothing follows for a while."""

    def __init__(self, stream: Callable[[Sequence[Part]], None], every: float = KEEP_EVERY) -> None:
        self._stream, self._every = stream, every
        self._draft = Draft()
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def keep(self, draft: Draft) -> None:
        """Save the reply now if a saving is due, else when one is."""
        self._draft = draft
        wait = self._due - time.monotonic()
        if wait <= 0:
            self._save()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._save)

    def stop(self) -> None:
        """The reply is over: its record says the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _save(self) -> None:
        self.stop()
        parts = self._draft.so_far()
        if parts:
            self._due = time.monotonic() + self._every
            self._stream(parts)

"""Clock of code with a limit of time: it stands still while the code waits for others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Time that code has used. Waiting for the agent or the person does not count."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._waited = 0.0
        self._waits: float | None = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock."""
        self._waits = time.monotonic()
        try:
            yield
        finally:
            self._waited += time.monotonic() - self._waits
            self._waits = None

    @property
    def used(self) -> float:
        """Seconds so far."""
        now = self._waits if self._waits is not None else time.monotonic()
        return now - self._began - self._waited

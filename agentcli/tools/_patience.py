"""Bounds the time that a regular expression may take: on some texts some would not end for years."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agentcli.core.errors import ToolError


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise ToolError in a search that takes longer. Only for code that does not await; elsewhere than in the main thread nothing is bounded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise ToolError(
            f"The pattern takes longer than {seconds:g} s here. Make it simpler: no repetition inside another one."
        )

    # The re module looks for signals while it matches, so that a timer can end what nothing else could.
    handler = signal.signal(signal.SIGALRM, stop)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, handler)

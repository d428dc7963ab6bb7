"""A total time limit for work.

Libraries such as urllib limit only single waits, which a slow drip of bytes never exceeds.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return or raise the result of `work`.

    Raises TimeoutError after so many seconds; its thread then ends with the process.
    """
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not outcome:
        raise TimeoutError(errno.ETIMEDOUT, f"it took longer than {seconds:g} s")
    return outcome[0]

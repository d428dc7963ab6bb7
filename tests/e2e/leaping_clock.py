"""The program under a clock that is set while it runs: by an hour with every reading, forwards, backwards, or to and fro.

python -m tests.e2e.leaping_clock DIRECTION [ARGUMENTS]        runs `agentcli ARGUMENTS`; DIRECTION is a key of LEAPS, or seconds
                                                               by which the clock is fast
"""

from __future__ import annotations

import datetime
import itertools
import sys
import time

LEAPS = {"forwards": (1,), "backwards": (-1,), "to-and-fro": (1, -1, 7, -7, -1, 1)}
"""Hours by which the clock is set before each of its readings, again and again."""


def set_clock(direction: str) -> None:
    """Replace the interpreter's clock; the monotonic one goes on as it is, as it does in the kernel."""
    fast = [int(direction) / 3600] if direction.isdigit() else ()
    real, leaps = time.time, itertools.cycle(fast) if fast else itertools.accumulate(itertools.cycle(LEAPS[direction]))

    class Leaping(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Leaping:
            return cls.fromtimestamp(time.time(), tz)

    time.time = lambda: real() + 3600 * next(leaps)
    datetime.datetime = Leaping  # type: ignore[misc]


if __name__ == "__main__":
    set_clock(sys.argv[1])
    from agentcli.__main__ import main

    sys.exit(main(sys.argv[2:]))

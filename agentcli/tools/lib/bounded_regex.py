"""Search for a regular expression within a time limit, in any thread, without blocking other work."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.errors import ToolError
from agentcli.system.process import Command, run

BATCH = 250_000
"""Characters of texts that are worth one process."""
_PLAIN = re.compile(r"(?:\(\?[aimsux]+\))?(?:\\.|[^\\*+?{(])*", re.DOTALL)
"""Patterns without repetitions and groups; searching them takes no longer than reading the text."""
_STARTING = 10.0
"""Seconds that the process may need in addition to the search."""


def is_plain(pattern: str) -> bool:
    """Return True if searching for the pattern takes no longer than reading the text."""
    return _PLAIN.fullmatch(pattern) is not None


class BoundedRegex:
    """A regular expression whose search, line by line, takes at most `seconds`.

    The re module can be interrupted only by a signal in the main thread, which would stop all other work. So a separate
    process searches for any pattern that could take long.
    """

    def __init__(self, regex: re.Pattern[str], seconds: float) -> None:
        self._regex, self._seconds = regex, seconds
        self.is_plain = is_plain(regex.pattern)
        """True if the search needs no process, so that batches of texts bring no gain."""

    async def lines(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return the numbers of each text's matching lines, from 1. Raises ToolError if that takes too long."""
        if self.is_plain:
            return [[n for n, line in enumerate(text.split("\n"), 1) if self._regex.search(line)] for text in texts]
        request = {"pattern": self._regex.pattern, "seconds": self._seconds, "texts": list(texts)}
        script = Path(__file__).with_name("match_lines.py")
        argv = [sys.executable, "-I", "-S", str(script)]
        output, errors = _Whole(), _Whole()
        command = Command(argv, Path("/"), dict(os.environ), json.dumps(request), errors=errors)
        ended = await run(command, output, self._seconds + _STARTING, None)
        if ended.why == "interrupted":
            raise asyncio.CancelledError
        if ended.why == "timeout" or ended.exit_code in (-signal.SIGALRM, 128 + signal.SIGALRM):
            raise ToolError(
                f"The pattern takes longer than {self._seconds:g} s here. Make it simpler: no repetition inside another one."
            )
        if ended.exit_code != 0:
            raise ToolError(f"The search could not be carried out: {errors.text[-200:] or ended.why}")
        found: Sequence[Sequence[int]] = json.loads(output.text)
        return found


class _Whole:
    """A sink that keeps all of an output."""

    enough = 0

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def add(self, piece: memoryview, skipped: int) -> None:
        """Add a piece."""
        self._pieces.append(bytes(piece))

    @property
    def text(self) -> str:
        """The collected output."""
        return b"".join(self._pieces).decode("utf-8", "replace")

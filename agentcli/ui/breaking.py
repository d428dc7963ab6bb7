"""What Esc and Ctrl-C mean: stop what goes on, else clear what is typed, else, when they come twice, go back or leave."""

from __future__ import annotations

import time

from agentcli.core.errors import INTERRUPTED
from agentcli.ui.console import Console
from agentcli.ui.memory import Memory
from agentcli.ui.repl import Repl

TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves, and a second Esc goes back."""


class Breaking:
    """The two keys in one session; what Ctrl-C clears goes to `memory`."""

    def __init__(self, console: Console, repl: Repl, memory: Memory) -> None:
        self._console, self._repl, self._memory = console, repl, memory
        self._broken_at, self._broke_off = 0.0, False
        self._escaped_at = 0.0

    def escape(self) -> None:
        """Esc: interrupt; twice where nothing goes on and nothing is typed, go back to an earlier prompt."""
        now = time.monotonic()
        twice, self._escaped_at = now - self._escaped_at < TWICE, now
        if self._repl.working:
            self._repl.interrupt()
            self._escaped_at = 0.0
        elif self._console.editor.draft.text or not self._console.desk.history.turn:
            return
        elif twice:
            self._repl.submit("/rewind")
        else:
            self._console.notice("Esc again goes back to one of your prompts.")

    def break_off(self, leaving: int = 0) -> None:
        """Ctrl-C: interrupt, else clear, else leave when it comes twice; `leaving` is the exit code where nothing was broken off."""
        now, editor = time.monotonic(), self._console.editor
        twice, self._broken_at = now - self._broken_at < TWICE, now
        self._broke_off = self._repl.working or (twice and self._broke_off)
        if twice and not editor.draft.text:
            self._console.leave(INTERRUPTED if self._broke_off else leaving)
        elif self._repl.working:
            self._repl.interrupt()
        elif editor.draft.text:
            self._memory.remember(editor.take())
        else:
            self._console.notice("Ctrl-C again leaves.")

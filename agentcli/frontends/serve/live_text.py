"""Removal of secrets from text that arrives in pieces: a piece is passed on once its last word is complete."""

from __future__ import annotations

from collections.abc import Callable

_BLOCK = "-----BEGIN "
"""The beginning of a private key, of which nothing is passed on while it arrives."""


class LiveText:
    """A text that grows. What was passed on stays as it is, so no word leaves before it is whole and was looked at."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._line = self._passed = self.whole = ""

    def add(self, piece: str) -> str:
        """Return what can be passed on now."""
        self._line += piece
        last = max(self._line.rfind(" "), self._line.rfind("\n"), self._line.rfind("\t"))
        return self._pass(self._line[: last + 1]) if last >= 0 else ""

    def clear(self) -> None:
        """Begin another text."""
        self._line = self._passed = self.whole = ""

    def _pass(self, ready: str) -> str:
        block = ready.find(_BLOCK)
        if block >= 0:
            ready = ready[:block]
        cleaned = self._clean(ready)
        if not cleaned.startswith(self._passed):
            # A word changed that was passed on: the rest of this line waits for the whole message.
            return ""
        more = cleaned[len(self._passed) :]
        self._passed, self.whole = cleaned, self.whole + more
        if block < 0 and (end := ready.rfind("\n")) >= 0:
            self._line = self._line[end + 1 :]
            self._passed = self._clean(ready[end + 1 :])
        return more

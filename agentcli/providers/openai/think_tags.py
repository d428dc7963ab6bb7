"""Thoughts in `<think>` tags at the beginning of a text, as servers without a reasoning parser send them."""

from __future__ import annotations

OPENED, CLOSED = "<think>", "</think>"


class ThinkTags:
    """A reader of text in pieces that separates the thoughts at its beginning from the rest.

    A later tag is normal text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def read(self, piece: str) -> list[tuple[bool, str]]:
        """Return the runs that are certain now, each with True if it is a thought.

        Possible halves of tags are held back.
        """
        self._held += piece
        runs: list[tuple[bool, str]] = []
        if self._state == "start":
            begun = self._held.lstrip()
            if begun.startswith(OPENED):
                self._state, self._held = "opened", begun.removeprefix(OPENED)
            elif not OPENED.startswith(begun):
                self._state = "text"
        if self._state == "opened" and (thought := self._held.lstrip("\n")):
            self._state, self._held = "thought", thought
        if self._state == "thought":
            thought, closed, rest = self._held.partition(CLOSED)
            if closed:
                self._state, self._held = "after", rest
                runs.append((True, thought.rstrip("\n")))
            else:
                kept = _half_tag(self._held)
                runs.append((True, self._held[: len(self._held) - kept]))
                self._held = self._held[len(self._held) - kept :]
        if self._state == "after" and (text := self._held.lstrip()):
            self._state, self._held = "text", text
        if self._state == "text":
            runs.append((False, self._held))
            self._held = ""
        return [run for run in runs if run[1]]

    def end(self) -> list[tuple[bool, str]]:
        """Return the rest at the end of the text."""
        held, self._held = self._held, ""
        return [(self._state == "thought", held)] if held and self._state not in ("opened", "after") else []


def _half_tag(text: str) -> int:
    """Return the length of the text's end that may begin a closing tag, with the line ends before it."""
    trimmed = text.rstrip("\n")
    for size in range(min(len(CLOSED) - 1, len(text)), 0, -1):
        if text.endswith(CLOSED[:size]):
            before = text[: len(text) - size].rstrip("\n")
            return len(text) - len(before)
    return len(text) - len(trimmed)

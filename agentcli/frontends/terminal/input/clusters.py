"""An edit buffer in which one step, and one deletion, is a letter as people see it: an emoji of several characters, a letter with its marks."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer

_LONGEST = 64
"""Characters that are searched for the end of a cluster."""


class ClusterBuffer(Buffer):
    """A buffer whose cursor never stands within a cluster (UAX 29)."""

    @property
    def cursor_position(self) -> int:
        """The place of the cursor, in characters."""
        return super().cursor_position

    @cursor_position.setter
    def cursor_position(self, value: int) -> None:
        before = super().cursor_position
        value = max(0, min(value, len(self.text)))
        start, end = cluster(self.text, value)
        if start < value < end:
            value = start if value < before else end
        vars(Buffer)["cursor_position"].__set__(self, value)

    def delete_before_cursor(self, count: int = 1) -> str:
        """Delete the cluster before the cursor, or `count` characters if more than one is given."""
        if count == 1 and (place := self.cursor_position):
            count = place - cluster(self.text, place - 1)[0]
        return super().delete_before_cursor(count)

    def delete(self, count: int = 1) -> str:
        """Delete the cluster after the cursor, or `count` characters if more than one is given."""
        if count == 1:
            count = max(1, cluster(self.text, self.cursor_position)[1] - self.cursor_position)
        return super().delete(count)


def cluster(text: str, place: int) -> tuple[int, int]:
    """Return the first place of the cluster that contains the character at `place`, and the place after it."""
    if place >= len(text) or text[max(0, place - 1) : place + 2].isascii():
        return place, place + 1
    from wcwidth import grapheme_boundary_before, iter_graphemes  # its tables take 30 ms: not before the first paint

    start = grapheme_boundary_before(text, place + 1)
    return start, start + len(next(iter(iter_graphemes(text[start : start + _LONGEST])), " "))

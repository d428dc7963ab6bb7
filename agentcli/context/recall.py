"""Finds again what was cleared from the view or summarised: byte for byte, in this session's records and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from agentcli.core.message import ToolResult
from agentcli.core.record import Record

Whole = Callable[[ToolResult], str]
"""The whole output of a result: from where it was kept when it was cut, else what the result holds."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of an output with their numbers, counted from 1, of `total`."""

    lines: tuple[tuple[int, str], ...]
    total: int

    @property
    def text(self) -> str:
        """The lines as they stood."""
        return "\n".join(line for _, line in self.lines)


def find_result(records: Iterable[Record], call_id: str) -> ToolResult | None:
    """The result of a call, from records in any order, whatever was compacted, cleared or rewound since."""
    for record in records:
        if isinstance(record.body, ToolResult) and record.body.call_id == call_id:
            return record.body
    return None


def search_results(records: Iterable[Record], pattern: str, whole: Whole) -> Iterator[tuple[ToolResult, str]]:
    """Results that have a line matching the regular expression, in the order of the records. Raises re.error."""
    regex = re.compile(pattern, re.MULTILINE)
    for record in records:
        if isinstance(record.body, ToolResult):
            text = whole(record.body)
            if regex.search(text):
                yield record.body, text


def excerpt(text: str, *, first: int = 1, count: int = 0, pattern: str = "") -> Excerpt:
    """The lines of a text from number `first` on, at most `count` (0: all), that match the pattern if one is given.

    Lines end at a newline only, so that joining all of them gives the text back. Raises re.error.
    """
    regex = re.compile(pattern)
    lines = text.split("\n")
    found = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if number >= first and (not pattern or regex.search(line))
    ]
    return Excerpt(tuple(found[:count] if count > 0 else found), len(lines))

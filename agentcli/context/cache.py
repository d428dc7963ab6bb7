"""The health of the provider's cache: how much is read from it, and which segment changed when nothing was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agentcli.core.codec import dumps, part_to_json
from agentcli.core.message import Part, ToolResult, Usage
from agentcli.core.model import Request

THRASH = 3
"""So many misses in a row are thrashing."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a request that a cache compares as a whole: model, tools, system, or a part of a message."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Health:
    """What the requests of a session say of its cache, folded one by one with `after`.

    Tokens by kind over all requests. `misses` counts requests that could have read from the cache and did not, `in_a_row` the
    newest of them. `changed` names the first segment that differed at the newest miss, empty if none did.
    """

    requests: int = 0
    fresh: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    misses: int = 0
    in_a_row: int = 0
    changed: str = ""
    last: Request | None = None
    expected: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of all input that was read from the cache, 0 to 1."""
        total = self.fresh + self.written + self.read
        return self.read / total if total else 0.0

    @property
    def thrashing(self) -> bool:
        """Whether the cache has failed often enough in a row that the user should know."""
        return self.in_a_row >= THRASH

    def after(self, request: Request, usage: Usage, *, edited: bool = False, idle: float = 0.0) -> Health:
        """After one more answered request, `idle` seconds after the one before.

        A miss is a request that read less than half of what the former one left in the cache. None is counted where nothing could
        be read: at first, below the model's minimum, after the cache's lifetime; nor where an edit of ours explains it.
        """
        could = self.expected >= max(1, request.model.cache_minimum) and idle <= request.model.cache_lifetime
        missed = could and not edited and usage.cache_read * 2 < self.expected
        return replace(
            self,
            requests=self.requests + 1,
            fresh=self.fresh + usage.input,
            written=self.written + usage.cache_write,
            read=self.read + usage.cache_read,
            output=self.output + usage.output,
            misses=self.misses + missed,
            in_a_row=self.in_a_row + 1 if missed else 0,
            changed=changed_between(self.last, request) if missed and self.last else self.changed,
            last=request,
            expected=_left_in_cache(request, usage),
        )

    def words(self) -> str:
        """A line for people about the newest misses, or an empty text while all is well."""
        if not self.in_a_row:
            return ""
        times = "once" if self.in_a_row == 1 else f"{self.in_a_row} times in a row"
        if not self.changed:
            return f"The provider's cache was missed {times}, although nothing in the request had changed."
        return f"The provider's cache was missed {times}: {self.changed} changed since the request before."


def changed_between(former: Request, now: Request) -> str:
    """The name of the first segment of the former request that the new one does not begin with, or an empty text."""
    later = segments_of(now)
    for index, segment in enumerate(segments_of(former)):
        if index >= len(later):
            return f"{segment.name} (gone)"
        if segment != later[index]:
            return segment.name
    return ""


def segments_of(request: Request) -> tuple[Segment, ...]:
    """The request cut where a cache compares it, each piece with its hash, in the order of the prefix."""
    return tuple(_segments(request))


def _segments(request: Request) -> Iterator[Segment]:
    yield Segment("the model", _digest(request.model.name))
    yield Segment(
        "the tools", _digest([[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools])
    )
    yield Segment("the system prompt", _digest(list(request.system)))
    for number, turn in enumerate(request.turns, 1):
        # Part by part, since the newest message may grow: results first, the user's words later.
        for part in turn.parts:
            yield Segment(f"message {number} ({turn.role})", _digest([turn.role, _part(part)]))


def _part(part: Part | ToolResult) -> object:
    if isinstance(part, ToolResult):
        return [part.call_id, part.output, part.failed, [image.data for image in part.images]]
    return part_to_json(part)


def _digest(value: object) -> str:
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _left_in_cache(request: Request, usage: Usage) -> int:
    """Tokens that the next request may read; a provider that caches by itself keeps what it saw."""
    if request.model.cache_explicit:
        return usage.cache_read + usage.cache_write
    return usage.prompt

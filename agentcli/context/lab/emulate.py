"""A provider's prompt cache by its published rules: what a request would read, write and pay in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from agentcli.context.tokens import Counts
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, Request

Block = tuple[int, int]
"""Hash of a block's content, and its tokens."""


@dataclass
class Cache:
    """The cache of one model. `usage` asks it with one request after another, at times that do not run backwards.

    A provider with explicit caching (Anthropic) writes at the breakpoints of a request, no prefix shorter than the
    model's minimum, and finds what was written by looking back from each breakpoint at most `cache_lookback` blocks.
    One that caches by itself (Gemini) finds the longest prefix that it has seen, and charges nothing for writing.
    Either way an entry lives for `cache_lifetime` seconds after its last use.
    """

    model: ModelSpec
    counts: Counts
    _entries: dict[int, float] = field(default_factory=dict)
    """When each cached prefix was last used, by the hash of the prefix."""

    def usage(self, request: Request, now: float, output: int) -> Usage:
        """What the provider would report for this request at `now` (seconds), with a reply of `output` tokens."""
        blocks = blocks_of(request, self.counts)
        prefixes = list(accumulate((digest for digest, _ in blocks), _chain))
        before = list(accumulate(tokens for _, tokens in blocks))
        living = {prefix for prefix, used in self._entries.items() if now - used <= self.model.cache_lifetime}
        marks = _marks(request) if self.model.cache_explicit else []
        found = self._found(prefixes, before, living, marks)
        read = before[found] if found >= 0 else 0
        written = self._write(prefixes, before, marks, found, now)
        return Usage(before[-1] - read - written, output, 0, read, written if self.model.cache_explicit else 0)

    def _found(self, prefixes: Sequence[int], before: Sequence[int], living: set[int], marks: Sequence[int]) -> int:
        """The last block of the longest prefix that is cached, or -1."""
        if not self.model.cache_explicit:
            places = range(len(prefixes) - 1, -1, -1)
            large = (n for n in places if before[n] >= self.model.cache_minimum)
            return next((n for n in large if prefixes[n] in living), -1)
        for mark in reversed(marks):
            for place in range(mark, max(-1, mark - self.model.cache_lookback), -1):
                if prefixes[place] in living:
                    return place
        return -1

    def _write(
        self, prefixes: Sequence[int], before: Sequence[int], marks: Sequence[int], found: int, now: float
    ) -> int:
        """Remember what is cached now; how many tokens of it are new."""
        places = marks if self.model.cache_explicit else range(len(prefixes))
        places = [n for n in places if before[n] >= self.model.cache_minimum]
        self._entries |= {prefixes[n]: now for n in places}
        if found >= 0:
            # A hit refreshes the whole prefix, and with it the shorter ones.
            self._entries |= {prefix: now for prefix in prefixes[: found + 1] if prefix in self._entries}
        if not places or not self.model.cache_explicit:
            return 0
        return max(0, before[places[-1]] - (before[found] if found >= 0 else 0))


def blocks_of(request: Request, counts: Counts) -> list[Block]:
    """What a cache compares: system and tools as the first block, then each part of each turn."""
    head = hash((request.model.name, request.system, tuple(tool.name for tool in request.tools)))
    blocks = [(head, counts.head or counts.overhead(request.system, request.tools))]
    blocks += [(hash((turn.role, key_of(part))), counts.part(part)) for turn in request.turns for part in turn.parts]
    return blocks


def key_of(part: Part | ToolResult) -> tuple[str, ...]:
    """What makes a part differ from another on the wire."""
    match part:
        case ToolResult(call_id, _, _, output):
            return ("result", call_id, output)
        case ToolCall(call_id, name, _):
            return ("call", call_id, name)
        case Text(text):
            return ("text", text)
        case Thinking(text, signature):
            return ("thinking", text, signature)
        case Image(mime, data):
            return ("image", mime, data)
        case File(_, path, text):
            return ("file", path, text)


def _marks(request: Request) -> list[int]:
    """The breakpoints as numbers of blocks."""
    starts = list(accumulate((len(turn.parts) for turn in request.turns), initial=1))
    return sorted(0 if place.turn < 0 else starts[place.turn] + place.part for place in request.breakpoints)


def _chain(former: int, digest: int) -> int:
    return hash((former, digest))

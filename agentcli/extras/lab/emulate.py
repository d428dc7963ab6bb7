"""Emulated usage of a replayed session's requests: tokens read from the cache, written to it, and paid in full."""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, datetime
from itertools import accumulate

from agentcli.context.cache_model import PrefixCache, rules_of
from agentcli.context.tokens.counter import TokenCounter
from agentcli.core.dataclass import dataclass
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, Request

Block = tuple[int, int]
"""Hash of a block's content, and its tokens."""


@dataclass(slots=True)
class EmulatedCache:
    """Cache of one model. Pass requests to `usage` one after another, at times that never decrease."""

    model: ModelSpec
    counter: TokenCounter
    _prefixes: PrefixCache = field(default_factory=PrefixCache)

    def usage(self, request: Request, now: float, output: int) -> Usage:
        """Return the emulated usage of this request at `now` (seconds), with a reply of `output` tokens."""
        blocks = blocks_of(request, self.counter)
        read, written = self._prefixes.use(blocks, marks(request), rules_of(self.model), now)
        whole = sum(tokens for _, tokens in blocks)
        return Usage(whole - read - written, output, 0, read, written)


def blocks_of(request: Request, counter: TokenCounter) -> list[Block]:
    """Return the blocks that a cache compares: first system and tools, then each part of each message."""
    head = hash((request.model.name, request.system, tuple(tool.name for tool in request.tools)))
    blocks = [(head, counter.head or counter.overhead(request.system, request.tools))]
    blocks += [
        (hash((message.role, key_of(part))), counter.part(part))
        for message in request.messages
        for part in message.parts
    ]
    return blocks


def key_of(part: Part | ToolResult) -> tuple[str, ...]:
    """Return the key by which two parts are equal on the wire."""
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


def marks(request: Request) -> list[int]:
    """Return the breakpoints as numbers of blocks."""
    starts = list(accumulate((len(message.parts) for message in request.messages), initial=1))
    return sorted(0 if place.message < 0 else starts[place.message] + place.part for place in request.breakpoints)


def seconds_of(time: str) -> float:
    """Return a record's time in seconds since the epoch; UTC unless it has a zone."""
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

"""A reply as the chunks of a chat completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentcli.context.cache_model import CacheRules
from agentcli.core.message import Text, Thinking, ToolCall
from agentcli.providers.scripted.model import PIECE, Reply, tokens_of
from tests.loopback import chat_rules, openai_rules
from tests.loopback.plan import Asked, arguments_of, utf8

if TYPE_CHECKING:
    from tests.loopback.server import Loopback

Json = dict[str, Any]
FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
LAST = b"data: [DONE]\n\n"


def line(chunk: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"data: {utf8(chunk)}\n\n".encode()


def events(asked: Asked, reply: Reply, server: Loopback) -> list[bytes]:
    """The whole stream."""
    head = {"id": f"chatcmpl-{asked.number:04}", "object": "chat.completion.chunk", "created": 1, "model": asked.model}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    calls = [part for part in reply.parts if isinstance(part, ToolCall)]
    for part in reply.parts:
        match part:
            case Thinking(text):
                deltas += ({"reasoning_content": piece} for piece in _cut(text))
            case Text(text):
                deltas += ({"content": piece} for piece in _cut(text))
            case ToolCall():
                cut = reply.ending == "max_tokens" and part is reply.parts[-1]
                deltas += _call(part, calls.index(part), asked.number, cut)
            case _:
                raise TypeError(f"a model does not say {part!r}")
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = FINISH.get(reply.ending, reply.ending)
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = _usage(asked, reply, server)
    asked.usage = usage
    if (asked.json.get("stream_options") or {}).get("include_usage"):
        tier = {"service_tier": reply.usage.tier or "default"} if reply.usage else {}
        chunks.append({**head, "choices": [], "usage": usage, **tier})
    return [*map(line, chunks), LAST]


def _call(part: ToolCall, index: int, number: int, cut: bool) -> Iterator[Json]:
    begun = {"index": index, "id": part.call_id or f"call_{number:04}_{index:02}", "type": "function"}
    yield {"tool_calls": [{**begun, "function": {"name": part.name, "arguments": ""}}]}
    pieces = [*_cut(arguments_of(part.input))]
    for piece in pieces[: len(pieces) // 2] if cut else pieces:
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _cut(text: str) -> Iterator[str]:
    yield from (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _usage(asked: Asked, reply: Reply, server: Loopback) -> Json:
    whole, read, written, output, thoughts = reckoned(
        asked,
        reply,
        server,
        chat_rules.cache_blocks(asked.json),
        chat_rules.cache_marks(asked.json) if chat_rules.is_claude(asked.model) else None,
    )
    return {
        "prompt_tokens": whole,
        "completion_tokens": output,
        "total_tokens": whole + output,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }


def reckoned(
    asked: Asked, reply: Reply, server: Loopback, blocks: list[tuple[bytes, int]], marks: list[int] | None = None
) -> tuple[int, int, int, int, int]:
    """Tokens: of the prompt, those read from and written to the cache, of the reply, and those of thoughts in it."""
    spec = openai_rules.spec_of(asked.model)
    rules = CacheRules(spec.cache_minimum, lifetime=spec.cache_lifetime, explicit=marks is not None)
    read, written = server.cache.use(blocks, marks or (), rules, server.clock(), asked.model)
    if given := reply.usage:
        return given.prompt, given.cache_read, given.cache_write, given.output, given.reasoning
    thoughts = sum(tokens_of(part.text) for part in reply.parts if isinstance(part, Thinking))
    return (
        sum(tokens for _, tokens in blocks),
        read,
        written,
        sum(tokens_of(repr(part)) for part in reply.parts),
        thoughts,
    )

"""A reply as the events of a Messages stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentcli.context.cache_model import CacheRules
from agentcli.core.message import Part, Text, Thinking, ToolCall
from agentcli.providers.scripted.model import PIECE, Reply, tokens_of
from tests.loopback import anthropic_compaction as compaction
from tests.loopback import anthropic_rules
from tests.loopback.plan import Asked, arguments_of, utf8
from tests.loopback.refusal import Refused

if TYPE_CHECKING:
    from tests.loopback.server import Loopback

STOPS = {"pause": "pause_turn", "context_exceeded": "model_context_window_exceeded"}


def line(event: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {event['type']}\ndata: {utf8(event)}\n\n".encode()


def events(asked: Asked, reply: Reply, server: Loopback) -> list[bytes]:
    """The whole stream."""
    seen = anthropic_rules.as_edited(asked)
    usage = _usage(asked, reply, server)
    pauses = compaction.is_due(asked.json, anthropic_rules.prompt_tokens(asked))
    if pauses and not (compaction.edit_of(asked.json) or {}).get("pause_after_compaction"):
        raise Refused("This server only pauses after a compaction.")
    if pauses:
        none = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
        usage = none | {"iterations": [{"type": "compaction", **usage}]}
    asked.usage = usage
    message = {
        "id": f"msg_{asked.number:04}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage | {"output_tokens": 1}}
    found: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    text = "".join(part.text for part in reply.parts if isinstance(part, Text))
    blocks = [compaction.block(asked, text, server.seals)] if pauses else _blocks(asked, reply, server)
    for index, (block, deltas) in enumerate(blocks):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        found.append({"type": "content_block_stop", "index": index})
    details = {"type": "refusal", "category": "cyber"} if reply.ending == "refusal" else None
    stop = "compaction" if pauses else STOPS.get(reply.ending, reply.ending)
    delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
    found += [{"type": "message_delta", "delta": delta, "usage": usage, **seen.report}, {"type": "message_stop"}]
    return [*map(line, found)]


Block = tuple[dict[str, Any], list[dict[str, Any]]]


def _blocks(asked: Asked, reply: Reply, server: Loopback) -> Iterator[Block]:
    """Each block as it starts, and its deltas."""
    prefix = anthropic_rules.prefix(asked.json)
    before: list[Any] = []
    thoughts: list[Any] = []
    for number, part in enumerate(reply.parts):
        cut = reply.ending == "max_tokens" and part is reply.parts[-1]
        whole, block = _block(part, asked, number, [*prefix, *before], server)
        if isinstance(part, Thinking):
            thoughts.append(whole)
        if isinstance(part, ToolCall):
            server.seals.remember(whole["id"], thoughts)
        before.append(whole)
        yield block[0], block[1][: len(block[1]) // 2] if cut and isinstance(part, ToolCall) else block[1]


def _block(part: Part, asked: Asked, number: int, prefix: list[Any], server: Loopback) -> tuple[dict[str, Any], Block]:
    """The block as it must come back, and as it is streamed."""
    match part:
        case Thinking(text, _, meta) if meta and "anthropic" in meta:
            data = server.seals.issue(asked.model, "redacted", anthropic_rules.binding(asked.model, prefix))
            whole = {"type": "redacted_thinking", "data": data}
            return whole, (whole, [])
        case Thinking(text):
            seal = server.seals.issue(asked.model, text, anthropic_rules.binding(asked.model, prefix))
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(text)]
            deltas.append({"type": "signature_delta", "signature": seal})
            start = {"type": "thinking", "thinking": "", "signature": ""}
            return {"type": "thinking", "thinking": text, "signature": seal}, (start, deltas)
        case ToolCall(call_id, name, arguments):
            call_id = call_id or f"toolu_{asked.number:04}_{number:02}"
            start: dict[str, Any] = {
                "type": "tool_use",
                "id": call_id,
                "name": name,
                "input": {},
                "caller": {"type": "direct"},
            }
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in ["", *_cut(arguments_of(arguments))]
            ]
            return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}, (start, deltas)
        case Text(text):
            deltas = [{"type": "text_delta", "text": piece} for piece in _cut(text)]
            return {"type": "text", "text": text}, ({"type": "text", "text": ""}, deltas)
        case _:
            raise TypeError(f"a model does not say {part!r}")


def _cut(text: str) -> Iterator[str]:
    yield from (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _usage(asked: Asked, reply: Reply, server: Loopback) -> dict[str, Any]:
    spec = anthropic_rules.spec_of(asked.model)
    blocks, breakpoints = anthropic_rules.edited_blocks(asked)
    rules = CacheRules(spec.cache_minimum, spec.cache_lookback, spec.cache_lifetime)
    read, written = server.cache.use(blocks, breakpoints, rules, server.clock(), asked.model)
    whole = sum(tokens for _, tokens in blocks)
    if reply.usage is not None:
        given = reply.usage
        whole, read, written, output = given.prompt, given.cache_read, given.cache_write, given.output
    else:
        output = sum(tokens_of(repr(part)) for part in reply.parts)
    return {
        "input_tokens": whole - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        **({"service_tier": reply.usage.tier or "standard"} if reply.usage else {}),
    }

"""A reply as the chunks of a Gemini stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentcli.context.cache_model import CacheRules
from agentcli.core.message import Text, Thinking, ToolCall
from agentcli.providers.scripted.model import PIECE, Reply, tokens_of
from tests.loopback import google_rules
from tests.loopback.plan import Asked, utf8

if TYPE_CHECKING:
    from tests.loopback.server import Loopback

FINISH = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "stop_sequence": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "malformed_call": "MALFORMED_FUNCTION_CALL",
    "pause": "CONTINUATION",
}


def line(chunk: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"data: {utf8(chunk)}\r\n\r\n".encode()


def events(asked: Asked, reply: Reply, server: Loopback) -> list[bytes]:
    """The whole stream."""
    usage = _usage(asked, reply, server)
    asked.usage = usage
    head = {"modelVersion": asked.model, "responseId": f"resp_{asked.number:04}"}
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "usageMetadata": usage, **head}
        for part in _parts(asked, reply, server)
    ]
    finish: dict[str, Any] = {"finishReason": FINISH.get(reply.ending, "OTHER"), "index": 0}
    if reply.ending == "malformed_call":
        chunks = []
    elif google_rules.spec_of(asked.model).thinking == "level" and not any(
        isinstance(part, ToolCall) for part in reply.parts
    ):
        seal = server.seals.issue(asked.model, "", None)
        finish["content"] = {"role": "model", "parts": [{"text": "", "thoughtSignature": seal}]}
    chunks.append({"candidates": [finish], "usageMetadata": usage, **head})
    return [*map(line, chunks)]


def _parts(asked: Asked, reply: Reply, server: Loopback) -> Iterator[dict[str, Any]]:
    signed = google_rules.spec_of(asked.model).thinking != "level"
    for number, part in enumerate(reply.parts):
        match part:
            case Thinking(text):
                yield from ({"text": piece, "thought": True} for piece in _cut(text))
            case Text(text):
                yield from ({"text": piece} for piece in _cut(text))
            case ToolCall(call_id, name, arguments):
                call: dict[str, Any] = {
                    "name": name,
                    "args": dict(arguments),
                    "id": call_id or f"fc_{asked.number:04}_{number:02}",
                }
                whole: dict[str, Any] = {"functionCall": call}
                if not signed:
                    whole["thoughtSignature"] = server.seals.issue(asked.model, [name, dict(arguments)], None)
                    signed = True
                yield whole
            case _:
                raise TypeError(f"a model does not say {part!r}")


def _cut(text: str) -> Iterator[str]:
    size = PIECE * 4
    yield from (text[start : start + size] for start in range(0, len(text), size))


def _usage(asked: Asked, reply: Reply, server: Loopback) -> dict[str, Any]:
    spec = google_rules.spec_of(asked.model)
    blocks = google_rules.cache_blocks(asked.json)
    rules = CacheRules(spec.cache_minimum, lifetime=spec.cache_lifetime, explicit=False)
    read, _ = server.cache.use(blocks, (), rules, server.clock(), asked.model)
    whole = sum(tokens for _, tokens in blocks)
    thoughts = sum(tokens_of(part.text) for part in reply.parts if isinstance(part, Thinking))
    output = sum(tokens_of(repr(part)) for part in reply.parts if not isinstance(part, Thinking))
    if reply.usage is not None:
        given = reply.usage
        whole, read, thoughts, output = given.prompt, given.cache_read, given.reasoning, given.output - given.reasoning
    usage: dict[str, Any] = {
        "promptTokenCount": whole,
        "candidatesTokenCount": output,
        "totalTokenCount": whole + output + thoughts,
    }
    if thoughts:
        usage["thoughtsTokenCount"] = thoughts
    if read:
        usage["cachedContentTokenCount"] = read
    return usage

"""A reply as the events of a Responses stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.message import Part, Text, Thinking, ToolCall
from agentcli.providers.scripted.model import PIECE, Reply, tokens_of
from tests.loopback.plan import Asked, utf8

Json = dict[str, Any]


def line(event: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {event['type']}\ndata: {utf8(event)}\n\n".encode()


def events(asked: Asked, reply: Reply) -> list[Json]:
    """The whole stream."""
    body = asked.json
    response: Json = {"id": f"resp_{asked.number:04}", "object": "response", "model": body.get("model"), "output": []}
    found: list[Json] = [{"type": "response.created", "response": response | {"status": "in_progress"}}]
    items = []
    for index, part in enumerate(reply.parts):
        item = _item(part, f"{asked.number:04}_{index:02}", _custom(body))
        items.append(item)
        found.append({"type": "response.output_item.added", "output_index": index, "item": _empty(item)})
        found += ({**delta, "item_id": item["id"], "output_index": index} for delta in _deltas(part))
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    whole = response | {"status": "completed", "output": items, "usage": _usage(asked, reply)}
    found.append({"type": "response.completed", "response": whole})
    return [event | {"sequence_number": number} for number, event in enumerate(found)]


def _custom(body: Mapping[str, Any]) -> set[str]:
    """The tools that take a text instead of JSON."""
    return {str(tool.get("name")) for tool in body.get("tools") or () if tool.get("type") == "custom"}


def _item(part: Part, key: str, custom: set[str]) -> Json:
    match part:
        case Thinking(text):
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": f"rs_{key}", "summary": summary, "encrypted_content": f"sealed-{key}"}
        case ToolCall(call_id, name, given) if name in custom:
            call = {"call_id": call_id or f"call_{key}", "name": name, "input": str(given["input"])}
            return {"type": "custom_tool_call", "id": f"ctc_{key}", "status": "completed", **call}
        case ToolCall(call_id, name, given):
            call = {"call_id": call_id or f"call_{key}", "name": name, "arguments": json.dumps(dict(given))}
            return {"type": "function_call", "id": f"fc_{key}", "status": "completed", **call}
        case Text(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return {
                "type": "message",
                "id": f"msg_{key}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        case _:
            raise TypeError(f"a model does not say {part!r}")


def _empty(item: Json) -> Json:
    """The item as it begins."""
    begun = {"content": [], "summary": [], "arguments": "", "input": "", "status": "in_progress"}
    return {name: begun.get(name, value) for name, value in item.items()}


def _deltas(part: Part) -> Iterator[Json]:
    match part:
        case Text(text):
            kind, more = "response.output_text.delta", {"content_index": 0}
        case Thinking(text):
            kind, more = "response.reasoning_summary_text.delta", {"summary_index": 0}
        case _:
            return
    for start in range(0, len(text), PIECE):
        yield {"type": kind, **more, "delta": text[start : start + PIECE]}


def _usage(asked: Asked, reply: Reply) -> Json:
    used = reply.usage
    prompt = used.prompt if used else tokens_of(utf8(asked.json.get("input")))
    output = used.output if used else sum(tokens_of(repr(part)) for part in reply.parts)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": used.cache_read if used else 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning if used else 0},
        "total_tokens": prompt + output,
    }

"""A reply as the events of a Responses stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentcli.core.message import Part, Text, Thinking, ToolCall
from agentcli.providers.scripted.model import PIECE, Reply
from tests.loopback import openai_rules
from tests.loopback.chat_wire import reckoned
from tests.loopback.plan import Asked, arguments_of, utf8

if TYPE_CHECKING:
    from tests.loopback.server import Loopback

Json = dict[str, Any]
INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}


def line(event: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {event['type']}\ndata: {utf8(event)}\n\n".encode()


def events(asked: Asked, reply: Reply, server: Loopback) -> list[bytes]:
    """The whole stream."""
    body = asked.json
    response: Json = {"id": f"resp_{asked.number:04}", "object": "response", "model": body.get("model"), "output": []}
    found: list[Json] = [{"type": "response.created", "response": response | {"status": "in_progress"}}]
    items = []
    for index, part in enumerate(reply.parts):
        cut = reply.ending == "max_tokens" and part is reply.parts[-1]
        item = _item(part, f"{asked.number:04}_{index:02}", _custom(body), asked.model, server)
        if cut and isinstance(part, ToolCall):
            text = "input" if item["type"] == "custom_tool_call" else "arguments"
            item |= {text: item[text][: len(item[text]) // 2], "status": "incomplete"}
        items.append(item)
        found.append({"type": "response.output_item.added", "output_index": index, "item": _empty(item)})
        found += ({**delta, "item_id": item["id"], "output_index": index} for delta in _deltas(part, item))
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = _usage(asked, reply, server)
    asked.usage = usage
    reason = INCOMPLETE.get(reply.ending)
    response |= {"service_tier": reply.usage.tier or "default"} if reply.usage else {}
    ending: Json = {"status": "incomplete" if reason else "completed"}
    if reason:
        ending["incomplete_details"] = {"reason": reason}
    found.append(
        {"type": f"response.{ending['status']}", "response": {**response, **ending, "output": items, "usage": usage}}
    )
    return [line(event | {"sequence_number": number}) for number, event in enumerate(found)]


def compacted(asked: Asked, reply: Reply, server: Loopback) -> Json:
    """The answer of `/responses/compact`: all messages of the user, and a summary that only its model can read."""
    users = [
        item for item in asked.json["input"] if item.get("type", "message") == "message" and item.get("role") == "user"
    ]
    text = "".join(part.text for part in reply.parts if isinstance(part, Text))
    seal = server.seals.issue(asked.model, text, None)
    item = {"type": "compaction", "id": f"cmp_{asked.number:04}", "encrypted_content": seal}
    usage = asked.usage = _usage(asked, reply, server)
    return {
        "id": f"resp_{asked.number:04}",
        "object": "response.compaction",
        "created_at": 0,
        "output": [*users, item],
        "usage": usage,
    }


def _custom(body: Mapping[str, Any]) -> set[str]:
    """The tools that take a text instead of JSON."""
    return {str(tool.get("name")) for tool in body.get("tools") or () if tool.get("type") == "custom"}


def _item(part: Part, key: str, custom: set[str], model: str, server: Loopback) -> Json:
    match part:
        case Thinking(text):
            summary = [{"type": "summary_text", "text": text}]
            seal = server.seals.issue(model, text, None)
            return {"type": "reasoning", "id": f"rs_{key}", "summary": summary, "encrypted_content": seal}
        case ToolCall(call_id, name, given) if name in custom:
            call = {"call_id": call_id or f"call_{key}", "name": name, "input": str(given["input"])}
            return {"type": "custom_tool_call", "id": f"ctc_{key}", "status": "completed", **call}
        case ToolCall(call_id, name, given):
            call = {"call_id": call_id or f"call_{key}", "name": name, "arguments": arguments_of(given)}
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


def _deltas(part: Part, item: Json) -> Iterator[Json]:
    text = ""
    match part:
        case Text(text):
            kind, more = "response.output_text.delta", {"content_index": 0}
        case Thinking(text):
            kind, more = "response.reasoning_summary_text.delta", {"summary_index": 0}
        case _ if item["type"] == "function_call":
            kind, more, text = "response.function_call_arguments.delta", {}, item["arguments"]
        case _ if item["type"] == "custom_tool_call":
            kind, more, text = "response.custom_tool_call_input.delta", {}, item["input"]
        case _:
            return
    for start in range(0, len(text), PIECE):
        yield {"type": kind, **more, "delta": text[start : start + PIECE]}


def _usage(asked: Asked, reply: Reply, server: Loopback) -> Json:
    whole, read, written, output, thoughts = reckoned(asked, reply, server, openai_rules.cache_blocks(asked.json))
    return {
        "input_tokens": whole,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": thoughts},
        "total_tokens": whole + output,
    }

"""A request as chat completions want it: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.openai.models import KIND
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import attachment, fit_to_send, wire_id, wire_name

Json = dict[str, Any]

LONGEST_ID = 40
"""Characters of a call's id that the vendor takes."""
_FOLLOW = "The images of the tool results:"


def to_wire(request: Request, settings: ProviderSettings) -> Json:
    """The body of `POST /v1/chat/completions` without `stream`.

    `request.options` may hold `effort` (for models of style "level"), `temperature`, `session` (the key of the prompt cache, for the vendor
    alone), and what a server was found to want: `stream_options` and `max_completion_tokens` (bool).
    """
    own = settings.name == KIND
    options = request.options
    limit = "max_completion_tokens" if own or options.get("max_completion_tokens") else "max_tokens"
    wire: Json = {
        "model": request.model.id,
        "messages": [*_system(request.system), *_messages(request)],
        limit: min(request.max_output, request.model.max_output),
    }
    if request.tools:
        wire["tools"] = [_tool(tool) for tool in request.tools]
    if options.get("stream_options", True):
        wire["stream_options"] = {"include_usage": True}
    if request.model.thinking == "level":
        wire |= _reasoning(request, own)
    elif "temperature" in options:
        wire["temperature"] = options["temperature"]
    if own and settings.caching and options.get("session"):
        wire["prompt_cache_key"] = options["session"]
    if settings.extra_body:
        wire["extra_body"] = dict(settings.extra_body)
    return fit_to_send(wire)


def _reasoning(request: Request, own: bool) -> Json:
    """The effort. The vendor's models that think take no tools on this wire unless they are told not to think."""
    if own and request.tools:
        return {"reasoning_effort": "none"}
    return {"reasoning_effort": request.options["effort"]} if request.options.get("effort") else {}


def _system(system: Sequence[str]) -> list[Json]:
    text = "\n\n".join(text for text in system if text.strip())
    return [{"role": "system", "content": text}] if text else []


def _tool(tool: ToolSchema) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _messages(request: Request) -> list[Json]:
    """The messages; neighbours of one side are joined, because many templates want the sides to take turns."""
    messages: list[Json] = []
    for turn in request.messages:
        for message in _of_model(turn, request.model) if turn.role == "assistant" else _of_user(turn):
            last = messages[-1] if messages else {"role": ""}
            if message["role"] == last["role"] and message["role"] != "tool":
                _join(last, message)
            else:
                messages.append(message)
    return messages


def _join(last: Json, message: Json) -> None:
    """Add a message to its neighbour of the same side."""
    if "tool_calls" in message:
        last["tool_calls"] = [*last.get("tool_calls", ()), *message["tool_calls"]]
    for field in ("reasoning_content", "reasoning"):
        if field in message:
            last[field] = last.get(field, "") + message[field]
    if "reasoning_details" in message:
        last["reasoning_details"] = [*last.get("reasoning_details", ()), *message["reasoning_details"]]
    last["content"] = _content([*_blocks(last["content"]), *_blocks(message["content"])])


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _content(blocks: Sequence[Json]) -> str | list[Json] | None:
    """Blocks as the plainest content that holds them: many servers read nothing but a text."""
    if not blocks:
        return None
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return list(blocks)


def _of_user(turn: RequestMessage) -> list[Json]:
    """The results of tools, each a message of its own, then the user's. Images in results follow in it: the wire takes no others there."""
    messages: list[Json] = []
    blocks: list[Json] = []
    images: list[Image] = []
    for part in turn.parts:
        match part:
            case ToolResult():
                result = {"role": "tool", "tool_call_id": wire_id(part.call_id, LONGEST_ID), "content": part.output}
                messages.append(result)
                images += part.images
            case Text(text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case File():
                blocks.append({"type": "text", "text": attachment(part)})
            case Image():
                blocks.append(_image(part))
            case _:
                pass
    if images:
        blocks = [{"type": "text", "text": _FOLLOW}, *map(_image, images), *blocks]
    if blocks:
        messages.append({"role": "user", "content": _content(blocks)})
    return messages


def _of_model(turn: RequestMessage, model: ModelSpec) -> list[Json]:
    own = (turn.provider, turn.model) == (model.provider, model.id)
    texts = [part.text for part in turn.parts if isinstance(part, Text) and part.text.strip()]
    calls = [_call(part, own) for part in turn.parts if isinstance(part, ToolCall)]
    thoughts = _thoughts(turn.parts) if own else {}
    if not texts and not calls:
        return []
    message: Json = {"role": "assistant", "content": "\n\n".join(texts) or None, **thoughts}
    return [message | ({"tool_calls": calls} if calls else {})]


def _call(call: ToolCall, own: bool) -> Json:
    arguments = json.dumps(dict(call.input), ensure_ascii=False)
    wire: Json = {
        "id": wire_id(call.call_id, LONGEST_ID),
        "type": "function",
        "function": {"name": wire_name(call.name), "arguments": arguments},
    }
    extra = call.meta.get(KIND, {}).get("extra") if own and call.meta else None
    return wire | dict(extra or {})


def _thoughts(parts: Sequence[Part | ToolResult]) -> Json:
    """The model's thoughts in the field in which they came; those in tags, and those of other models, are not sent."""
    found: Json = {}
    for part in parts:
        raw = part.meta.get(KIND) if isinstance(part, Thinking) and part.meta else None
        if not isinstance(part, Thinking) or not isinstance(raw, Mapping):
            continue
        if raw.get("details"):
            found["reasoning_details"] = [*found.get("reasoning_details", ()), *raw["details"]]
        elif raw.get("field") in ("reasoning_content", "reasoning"):
            found[raw["field"]] = found.get(raw["field"], "") + part.text
    return found


def _image(image: Image) -> Json:
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime};base64,{image.data}"}}

"""Request in the form of chat completions: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import MOST_BREAKPOINTS, ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.openai.models import KIND
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import BodyWriter, WireMessages, attachment, fit_to_send, wire_id, wire_name

Json = dict[str, Any]

LONGEST_ID = 40
"""Maximum characters of a call's id for the vendor."""
_MARK: Mapping[str, Any] = {"cache_control": {"type": "ephemeral"}}
"""The mark up to which a gateway lets Claude cache, in the form of OpenRouter and LiteLLM.

It is on a message's blocks, or on the message of a tool result.
"""
_FOLLOW = "The images of the tool results:"
Marks = Mapping[int, Set[int]]
"""Parts followed by a cache mark, by the number of their message; the system is message -1."""


def to_wire(request: Request, settings: ProviderSettings) -> Json:
    """Return the body of `POST /v1/chat/completions` without `stream`, with the user's own fields in `extra_body`.

    `request.options` may have `temperature`, and `effort` for models of style "level". `session` is the prompt cache
    key, only for the vendor. `stream_options` and `max_completion_tokens` (bool) are there if a server turned out to
    need them.
    """
    former = Former()
    marks = _marks(request, settings)
    messages, marked = former.of(request, marks)
    sent = [marked.get(number, message) for number, message in enumerate(messages.messages)]
    own = {"extra_body": dict(settings.extra_body)} if settings.extra_body else {}
    fields = _fields(request, settings, former)
    return fit_to_send({**fields, "messages": [*_system(request.system, marked=-1 in marks), *sent], **own})


def to_body(request: Request, settings: ProviderSettings, former: Former) -> bytes:
    """Return the body of a streaming request as JSON. Messages in `former` are neither built nor encoded again."""
    marks = _marks(request, settings)
    messages, marked = former.of(request, marks)
    fields = {**_fields(request, settings, former), "stream": True, **settings.extra_body}
    return former.writer.write(fields, "messages", messages, marked, _system(request.system, marked=-1 in marks))


def _fields(request: Request, settings: ProviderSettings, former: Former) -> Json:
    """Return the fields of a body except its messages."""
    own = settings.name == KIND
    options = request.options
    limit = "max_completion_tokens" if own or options.get("max_completion_tokens") else "max_tokens"
    wire: Json = {"model": request.model.id, limit: min(request.max_output, request.model.max_output)}
    if request.tools:
        wire["tools"] = former.tools(request.tools)
    if options.get("stream_options", True):
        wire["stream_options"] = {"include_usage": True}
    if request.model.thinking == "level":
        wire |= _reasoning(request, own)
    elif "temperature" in options:
        wire["temperature"] = options["temperature"]
    if own and settings.caching and options.get("session"):
        wire["prompt_cache_key"] = options["session"]
    return wire


class Former:
    """The newest request as sent: its messages and tools, for the next one."""

    def __init__(self) -> None:
        self._messages = WireMessages(_formed, _joined)
        self.writer = BodyWriter()
        self._tools: tuple[object, list[Json]] = ((), [])

    def of(self, request: Request, marks: Marks) -> tuple[WireMessages[ModelSpec], Mapping[int, Json]]:
        """Return the messages of a request, and those with a cache mark by their number on the wire."""
        messages = self._messages.of(request.messages, request.model)
        return messages, _marked(request, marks, messages.places)

    def tools(self, tools: Sequence[ToolSchema]) -> list[Json]:
        """Return the tools of a request."""
        if self._tools[0] != tools:
            self._tools = tools, fit_to_send([_tool(tool) for tool in tools])
        return self._tools[1]


def _reasoning(request: Request, own: bool) -> Json:
    """Return the effort. On this wire, the vendor's thinking models accept tools only if thinking is off."""
    if own and request.tools:
        return {"reasoning_effort": "none"}
    return {"reasoning_effort": request.options["effort"]} if request.options.get("effort") else {}


def _marks(request: Request, settings: ProviderSettings) -> Marks:
    """Return the marks of a request; if there are too many, the newest."""
    if not (settings.caching and request.model.cache_explicit):
        return {}
    marks: dict[int, set[int]] = {}
    for point in request.breakpoints[-MOST_BREAKPOINTS:]:
        parts = request.messages[point.message].parts if point.message >= 0 else ()
        marks.setdefault(point.message, set()).add(point.part if point.part >= 0 else len(parts) - 1)
    return marks


def _system(system: Sequence[str], *, marked: bool) -> list[Json]:
    text = "\n\n".join(text for text in system if text.strip())
    content: Any = [{"type": "text", "text": text, **_MARK}] if marked else text
    return [{"role": "system", "content": content}] if text else []


def _tool(tool: ToolSchema) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _formed(turn: RequestMessage, model: ModelSpec, marked: Set[int] = frozenset()) -> Sequence[Json]:
    return fit_to_send(_of_model(turn, model, marked) if turn.role == "assistant" else _of_user(turn, marked))


def _marked(request: Request, marks: Marks, places: Sequence[tuple[int, int]]) -> Mapping[int, Json]:
    """Return the messages with these marks, by their number on the wire."""
    found: dict[int, Json] = {}
    for number in marks:
        if number < 0:
            continue
        first, end = number, number + 1
        while places[first][1]:
            first -= 1  # it is joined to the one before
        while end < len(places) and places[end][1]:
            end += 1
        group: list[Json] = []
        for each in range(first, end):
            for message in _formed(request.messages[each], request.model, marks.get(each, frozenset())):
                both = _joined(group[-1], message) if group else None
                group[-1:] = [both[0]] if both else [*group[-1:], message]
        found |= enumerate(group, places[first][0])
    return found


def _joined(first: Json, second: Json) -> tuple[Json, int] | None:
    """Return two neighbours of one side as one message: many templates require the sides to alternate."""
    if first["role"] != second["role"] or first["role"] == "tool":
        return None
    both = dict(first)
    if "tool_calls" in second:
        both["tool_calls"] = [*first.get("tool_calls", ()), *second["tool_calls"]]
    for field in ("reasoning_content", "reasoning"):
        if field in second:
            both[field] = first.get(field, "") + second[field]
    if "reasoning_details" in second:
        both["reasoning_details"] = [*first.get("reasoning_details", ()), *second["reasoning_details"]]
    before = _blocks(first["content"])
    both["content"] = _content([*before, *_blocks(second["content"])])
    return both, 1 + len(before)


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _content(blocks: Sequence[Json]) -> str | list[Json] | None:
    """Return blocks as the plainest content that can express them: many servers read only text."""
    if not blocks:
        return None
    if all(block["type"] == "text" and len(block) == len(("type", "text")) for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return list(blocks)


def _of_user(turn: RequestMessage, marked: Set[int]) -> list[Json]:
    """Return tool results as separate messages, then the user's message with the results' images: results can't contain
    images.
    """
    results = [number for number, part in enumerate(turn.parts) if isinstance(part, ToolResult)]
    last_result = max(results, default=-1)
    messages: list[Json] = []
    blocks: list[Json] = []
    images: list[Image] = []
    for number, part in enumerate(turn.parts):
        match part:
            case ToolResult():
                result: Json = {
                    "role": "tool",
                    "tool_call_id": wire_id(part.call_id, LONGEST_ID),
                    "content": part.output,
                }
                messages.append({**result, **(_MARK if number in marked else {})})
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
    if blocks and any(number > last_result for number in marked):
        blocks[-1] = {**blocks[-1], **_MARK}
    if blocks:
        messages.append({"role": "user", "content": _content(blocks)})
    return messages


def _of_model(turn: RequestMessage, model: ModelSpec, marked: Set[int]) -> list[Json]:
    own = (turn.provider, turn.model) == (model.provider, model.id)
    texts = [part.text for part in turn.parts if isinstance(part, Text) and part.text.strip()]
    calls = [_call(part, own) for part in turn.parts if isinstance(part, ToolCall)]
    thoughts = _thoughts(turn.parts) if own else {}
    if not texts and not calls:
        return []
    content: Any = "\n\n".join(texts) or None
    if marked and content:
        content = [{"type": "text", "text": content, **_MARK}]
    message: Json = {"role": "assistant", "content": content, **thoughts}
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
    """Return the model's thoughts in their original field; thoughts in tags, and other models' thoughts, are not sent."""
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

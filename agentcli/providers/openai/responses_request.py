"""Request in the form of the Responses API: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.arguments import BARE
from agentcli.providers.openai.models import KIND
from agentcli.providers.settings import ProviderSettings, is_plan
from agentcli.providers.wire import attachment, fit_to_send, wire_id, wire_name

Json = dict[str, Any]

COMPACTED = "compacted"
"""Key of the items that replace a conversation, in this provider's part of a text's Meta."""
LEAST_OUTPUT = 16
"""Tokens; a smaller limit of a reply is refused."""


def to_wire(request: Request, settings: ProviderSettings) -> Json:
    """Return the body of `POST /v1/responses` without `stream`.

    The vendor stores nothing: each request contains the whole input. `request.options` may have `thinking`, a bool that
    is true by default; None sends nothing about it. `effort` is low … max. `summaries` is a bool, by default true.
    `session` is the prompt cache key.
    """
    options = request.options
    free = _free(request)
    wire: Json = {
        "model": request.model.id,
        "input": [item for turn in request.messages for item in _items(turn, request.model, free)],
        "max_output_tokens": max(LEAST_OUTPUT, min(request.max_output, request.model.max_output)),
        "store": False,
    }
    instructions = "\n\n".join(text for text in request.system if text.strip())
    if instructions:
        wire["instructions"] = instructions
    if request.tools:
        wire["tools"] = [_tool(tool, free.tools) for tool in request.tools]
    if request.searches:
        wire["tools"] = [*wire.get("tools", []), {"type": "web_search"}]
        wire["max_tool_calls"] = request.searches
    if request.model.thinking == "level" and options.get("thinking", True) is not None:
        wire["include"] = ["reasoning.encrypted_content"]
        reasoning = _reasoning(options)
        if reasoning:
            wire["reasoning"] = reasoning
    if request.searches:
        wire["include"] = [*wire.get("include", []), "web_search_call.action.sources"]
    if settings.caching and options.get("session"):
        wire["prompt_cache_key"] = options["session"]
    if settings.extra_body:
        wire["extra_body"] = dict(settings.extra_body)
    return fit_to_send(_for_plan(wire) if is_plan(settings) else wire)


def _for_plan(wire: Json) -> Json:
    """Return a request in the form that a ChatGPT plan accepts: functions as the first item, and no limits."""
    own = [tool for tool in wire.get("tools", ()) if tool["type"] not in ("function", "custom")]
    functions = [tool for tool in wire.get("tools", ()) if tool not in own]
    more = [{"type": "additional_tools", "role": "developer", "tools": functions}] if functions else []
    kept = {name: value for name, value in wire.items() if name not in ("max_output_tokens", "max_tool_calls", "tools")}
    return {**kept, "input": [*more, *wire["input"]]} | ({"tools": own} if own else {})


def _reasoning(options: Mapping[str, Any]) -> Json:
    summary = {"summary": "auto"} if options.get("thinking", True) and options.get("summaries", True) else {}
    return ({"effort": options["effort"]} if options.get("effort") else {}) | summary


@dataclass(frozen=True, slots=True)
class _Free:
    """Tools that the model calls with plain text, and their calls in the request."""

    tools: frozenset[str]
    calls: frozenset[str]


def _free(request: Request) -> _Free:
    """Return the tools with a grammar and their calls that have only a text.

    They are for a model that writes plain text.
    """
    tools = frozenset(tool.name for tool in request.tools if tool.grammar and request.model.writes_freely)
    calls = (part for turn in request.messages for part in turn.parts if isinstance(part, ToolCall)) if tools else ()
    return _Free(tools, frozenset(call.call_id for call in calls if call.name in tools and _bare(call) is not None))


def _bare(call: ToolCall) -> str | None:
    """Return the text of a call that has only a text; None for any other call."""
    text = call.input.get(BARE)
    return text if isinstance(text, str) and len(call.input) == 1 else None


def _tool(tool: ToolSchema, free: frozenset[str]) -> Json:
    """Return a tool with its schema unchanged; without `strict`, this API would treat the schema as strict."""
    if tool.name in free:
        form = {"type": "grammar", "syntax": "lark", "definition": tool.grammar}
        return {"type": "custom", "name": tool.name, "description": tool.description, "format": form}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,
    }


def _items(turn: RequestMessage, model: ModelSpec, free: _Free) -> Iterator[Json]:
    if turn.role == "assistant":
        yield from _of_model(turn, model, free)
        return
    content: list[Json] = []
    for part in turn.parts:
        match part:
            case ToolResult():
                yield {
                    "type": "custom_tool_call_output" if part.call_id in free.calls else "function_call_output",
                    "call_id": wire_id(part.call_id),
                    "output": _output(part),
                }
            case Text(text) if text.strip():
                content.append({"type": "input_text", "text": text})
            case File():
                content.append({"type": "input_text", "text": attachment(part)})
            case Image():
                content.append(_image(part))
            case _:
                pass
    if content:
        yield {"type": "message", "role": "user", "content": content}


def _output(result: ToolResult) -> str | list[Json]:
    if not result.images:
        return result.output
    text = [{"type": "input_text", "text": result.output}] if result.output.strip() else []
    return [*text, *map(_image, result.images)]


def _image(image: Image) -> Json:
    return {"type": "input_image", "image_url": f"data:{image.mime};base64,{image.data}", "detail": "auto"}


def _of_model(turn: RequestMessage, model: ModelSpec, free: _Free) -> Iterator[Json]:
    """Yield the items of a reply.

    Reasoning is sent unchanged, only to its own model, and only with the items after it.
    """
    own = (turn.provider, turn.model) == (model.provider, model.id)
    reasoning: list[Json] = []
    for part in turn.parts:
        if isinstance(part, Thinking):
            raw = part.meta.get(KIND) if own and part.meta else None
            reasoning += [dict(raw)] if isinstance(raw, Mapping) and raw.get("type") == "reasoning" else []
        elif own and isinstance(part, Text) and (window := (part.meta or {}).get(KIND, {}).get(COMPACTED)):
            yield from (dict(item) for item in window)
        elif (item := _item(part, own, free)) is not None:
            yield from reasoning
            reasoning = []
            yield item


def _item(part: Part | ToolResult, own: bool, free: _Free) -> Json | None:
    match part:
        case Text(text, _, _, meta) if text.strip():
            phase = (meta or {}).get(KIND, {}).get("phase") if own else None
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item: Json = {"type": "message", "role": "assistant", "content": content}
            return item | ({"phase": phase} if phase else {})
        case ToolCall(call_id, name) if call_id in free.calls:
            return {"type": "custom_tool_call", "call_id": wire_id(call_id), "name": name, "input": _bare(part)}
        case ToolCall(call_id, name, given):
            arguments = json.dumps(dict(given), ensure_ascii=False)
            return {
                "type": "function_call",
                "call_id": wire_id(call_id),
                "name": wire_name(name),
                "arguments": arguments,
            }
        case _:
            return None


def compacted(request: Request, settings: ProviderSettings) -> Json:
    """Return the body of `POST /v1/responses/compact`: it accepts no tools, and needs no final instruction."""
    *messages, last = request.messages
    rest = replace(last, parts=last.parts[:-1])
    whole = replace(request, system=(*request.system, request.compaction or ""), messages=(*messages, rest))
    wire = to_wire(whole, settings)
    taken = ("model", "input", "instructions", "prompt_cache_key", "extra_body")
    return {name: wire[name] for name in taken if name in wire}


def countable(wire: Mapping[str, Any]) -> Json:
    """Return the fields of a request that the counting endpoint accepts."""
    taken: Sequence[str] = ("model", "input", "instructions", "tools", "reasoning")
    return {name: wire[name] for name in taken if name in wire}

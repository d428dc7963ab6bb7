"""Request in the form of the Responses API: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.arguments import BARE
from agentcli.providers.openai.models import KIND
from agentcli.providers.settings import ProviderSettings, is_plan
from agentcli.providers.wire import BodyWriter, WireMessages, apart, attachment, fit_to_send, wire_id, wire_name

Json = dict[str, Any]

COMPACTED = "compacted"
"""Key of the items that replace a conversation, in this provider's part of a text's Meta."""
LEAST_OUTPUT = 16
"""Tokens; a smaller limit of a reply is refused."""


def to_wire(request: Request, settings: ProviderSettings) -> Json:
    """Return the body of `POST /v1/responses` without `stream`, with the user's own fields in `extra_body`.

    The vendor stores nothing: each request contains the whole input. `request.options` may have `thinking`, a bool that
    is true by default; None sends nothing about it. `effort` is low … max. `summaries` is a bool, by default true.
    `session` is the prompt cache key.
    """
    former = Former()
    fields, first, items = _fields(request, settings, former)
    own = {"extra_body": dict(settings.extra_body)} if settings.extra_body else {}
    return fit_to_send({**fields, "input": [*first, *items.messages], **own})


def to_body(request: Request, settings: ProviderSettings, former: Former) -> bytes:
    """Return the body of a streaming request as JSON. Items in `former` are neither built nor encoded again."""
    fields, first, items = _fields(request, settings, former)
    fields = {**fields, "stream": True, **settings.extra_body}
    return former.writer.write(fields, "input", items, head=first)


def _fields(
    request: Request, settings: ProviderSettings, former: Former
) -> tuple[Json, Sequence[Json], WireMessages[_Rules]]:
    """Return the fields of a body except its input, and the input: items before the conversation, and its items."""
    options = request.options
    wire: Json = {
        "model": request.model.id,
        "max_output_tokens": max(LEAST_OUTPUT, min(request.max_output, request.model.max_output)),
        "store": False,
        **former.head(request),
    }
    if request.searches:
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
    wire, first = _for_plan(wire) if is_plan(settings) else (wire, [])
    return wire, first, former.items.of(request.messages, _Rules(request.model, _free(request)))


def _for_plan(wire: Json) -> tuple[Json, Sequence[Json]]:
    """Return fields in the form that a ChatGPT plan accepts, without limits, and the functions as the first item."""
    own = [tool for tool in wire.get("tools", ()) if tool["type"] not in ("function", "custom")]
    functions = [tool for tool in wire.get("tools", ()) if tool not in own]
    more = [{"type": "additional_tools", "role": "developer", "tools": functions}] if functions else []
    kept = {name: value for name, value in wire.items() if name not in ("max_output_tokens", "max_tool_calls", "tools")}
    return kept | ({"tools": own} if own else {}), more


def _reasoning(options: Mapping[str, Any]) -> Json:
    summary = {"summary": "auto"} if options.get("thinking", True) and options.get("summaries", True) else {}
    return ({"effort": options["effort"]} if options.get("effort") else {}) | summary


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rules for the wire form of messages: for this model, which calls the tools in `free` with plain text."""

    model: ModelSpec
    free: frozenset[str]


class Former:
    """The newest request as sent: its items, instructions and tools, for the next one."""

    def __init__(self) -> None:
        self.items = WireMessages(self._formed, apart)
        self.writer = BodyWriter()
        self._free: set[str] = set()
        """Ids of the calls with plain text."""
        self._head: tuple[object, Json] = ((), {})

    def head(self, request: Request) -> Json:
        """Return instructions and tools."""
        fixed = request.system, request.tools, request.searches, request.model.writes_freely
        if self._head[0] != fixed:
            self._head = fixed, fit_to_send(_head(request))
        return self._head[1]

    def _formed(self, message: RequestMessage, rules: _Rules) -> Sequence[Json]:
        """Return the items of a message. A result has the form of its call, which is in the message before it."""
        for call in message.parts:
            if isinstance(call, ToolCall):
                if call.name in rules.free and _bare(call) is not None:
                    self._free.add(call.call_id)
                else:
                    self._free.discard(call.call_id)
        return fit_to_send([*_items(message, rules.model, self._free)])


def _head(request: Request) -> Json:
    head: Json = {}
    instructions = "\n\n".join(text for text in request.system if text.strip())
    if instructions:
        head["instructions"] = instructions
    tools = [_tool(tool, _free(request)) for tool in request.tools]
    tools += [{"type": "web_search"}] if request.searches else []
    return head | ({"tools": tools} if tools else {})


def _free(request: Request) -> frozenset[str]:
    """Return the tools with a grammar, which a model that writes plain text calls with it."""
    return frozenset(tool.name for tool in request.tools if tool.grammar and request.model.writes_freely)


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


def _items(turn: RequestMessage, model: ModelSpec, free: Set[str]) -> Iterator[Json]:
    if turn.role == "assistant":
        yield from _of_model(turn, model, free)
        return
    content: list[Json] = []
    for part in turn.parts:
        match part:
            case ToolResult():
                yield {
                    "type": "custom_tool_call_output" if part.call_id in free else "function_call_output",
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


def _of_model(turn: RequestMessage, model: ModelSpec, free: Set[str]) -> Iterator[Json]:
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


def _item(part: Part | ToolResult, own: bool, free: Set[str]) -> Json | None:
    match part:
        case Text(text, _, _, meta) if text.strip():
            phase = (meta or {}).get(KIND, {}).get("phase") if own else None
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item: Json = {"type": "message", "role": "assistant", "content": content}
            return item | ({"phase": phase} if phase else {})
        case ToolCall(call_id, name) if call_id in free:
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

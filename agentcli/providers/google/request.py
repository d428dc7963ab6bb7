"""Request in the form of Gemini's generateContent: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.core.message import SIGNATURE, File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.google.models import KIND
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import BodyWriter, WireMessages, attachment, fit_to_send, joined, wanted_budget, wire_name

Json = dict[str, Any]

FOREIGN_CALL = base64.urlsafe_b64encode(b"skip_thought_signature_validator").decode()
"""Replacement for the signature of a call that another provider made; documented for foreign histories."""

_PLAIN_SCHEMA = frozenset(
    {"type", "description", "properties", "required", "items", "enum", "nullable", "minimum", "maximum"}
)


def to_json(request: Request, settings: ProviderSettings, former: Former) -> bytes:
    """Return the body of a request for a reply as JSON. Parts in `former` are neither built nor encoded again."""
    contents = former.messages.of(request.messages, request.model)
    return former.writer.write(_fields(request, settings, former), "contents", contents)


def to_body(request: Request, settings: ProviderSettings, former: Former) -> Json:
    """Return the body of a request for a reply. Parts in `former` are not built again.

    `request.options` may have `thinking`, a bool that is true by default; None sends nothing about it. `effort` is
    minimal … xhigh, for models of style "level". `thinking_budget` is in tokens, -1 for the model's choice, for models
    of style "budget". Without it, `effort` or the model decides. `temperature` is sent as given.
    """
    contents = list(former.messages.of(request.messages, request.model).messages)
    return {"contents": contents, **_fields(request, settings, former)}


def _fields(request: Request, settings: ProviderSettings, former: Former) -> Json:
    """Return the body without the contents, unless a user's setting has them."""
    body = {**former.beginning(request), "generationConfig": _generation(request)}
    return _with(body, fit_to_send(dict(settings.extra_body)))


class Former:
    """The newest request as sent: its messages, system text and tools, for the next one."""

    def __init__(self) -> None:
        self.messages = WireMessages(_formed, joined("parts"))
        self.writer = BodyWriter()
        self._beginning: tuple[object, Json] = ((), {})

    def beginning(self, request: Request) -> Json:
        """Return system text and tools."""
        fixed = request.system, request.tools, request.searches
        if self._beginning[0] != fixed:
            self._beginning = fixed, fit_to_send(_beginning(request))
        return self._beginning[1]


def _beginning(request: Request) -> Json:
    begin: Json = {}
    system = [{"text": text} for text in request.system if text.strip()]
    if system:
        begin["systemInstruction"] = {"parts": system}
    if request.tools:
        begin["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
    if request.searches:
        begin["tools"] = [*begin.get("tools", []), {"googleSearch": {}}]
    return begin


def _generation(request: Request) -> Json:
    """Return the settings of the reply."""
    generation: Json = {"maxOutputTokens": min(request.max_output, request.model.max_output)}
    if "temperature" in request.options:
        generation["temperature"] = request.options["temperature"]
    return generation | _thinking(request)


def _formed(message: RequestMessage, model: ModelSpec) -> Sequence[Json]:
    parts = [*_parts(message, model)]
    role = "model" if message.role == "assistant" else "user"
    return fit_to_send([{"role": role, "parts": parts}]) if parts else []


def _plain(schema: Json) -> Json:
    """Return a plain schema with the wire's type names."""
    made = schema | {"type": schema["type"].upper()}
    if "properties" in schema:
        made["properties"] = {name: _plain(inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        made["items"] = _plain(schema["items"])
    return made


def _with(body: Json, extra: Mapping[str, Any]) -> Json:
    """Merge the user's own fields into a body, in either spelling, as the SDK does."""
    names = {name.replace("_", "").lower(): name for name in body}
    merged = dict(body)
    for given, value in extra.items():
        name = names.get(given.replace("_", "").lower(), given)
        inner = merged.get(name)
        merged[name] = _with(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged


def countable(request: Request) -> list[Json]:
    """Return the contents with system text and tools as text before them, for the counting endpoint, which accepts
    neither.
    """
    tools = (f"{tool.name}\n{tool.description}\n{dict(tool.parameters)}" for tool in request.tools)
    head = fit_to_send([{"text": text} for text in (*request.system, *tools) if text.strip()])
    found = Former().messages.of(request.messages, request.model).messages
    if found and found[0]["role"] == "user":
        found = [{**found[0], "parts": [*head, *found[0]["parts"]]}, *found[1:]]
    elif head:
        found = [{"role": "user", "parts": head}, *found]
    return found


def _tool(tool: ToolSchema) -> Json:
    """Return a tool with the plain form of its schema if that suffices, else with JSON Schema.

    All API versions accept the plain form.
    """
    declared: Json = {"name": tool.name, "description": tool.description}
    if not tool.parameters.get("properties"):
        return declared
    if _is_plain(tool.parameters):
        return declared | {"parameters": _plain(dict(tool.parameters))}
    return declared | {"parameters_json_schema": dict(tool.parameters)}


def _is_plain(schema: Any) -> bool:
    """Return True if the plain form expresses the whole schema. A stored schema may contain anything."""
    match schema:
        case {"type": "object", **rest}:
            inner = rest.get("properties")
            if not isinstance(inner, Mapping) or not inner:
                return False
        case {"type": str()}:
            inner = schema.get("properties", {})
        case _:
            return False
    listed = schema.get("enum", [])
    if not _PLAIN_SCHEMA.issuperset(schema) or not isinstance(inner, Mapping) or not isinstance(listed, list):
        return False
    if not all(isinstance(value, str) for value in listed):
        return False
    return all(map(_is_plain, [*inner.values(), *([schema["items"]] if "items" in schema else [])]))


def _parts(turn: RequestMessage, model: ModelSpec) -> Iterator[Json]:
    own = turn.provider == model.provider
    first_call = True
    pictures: list[Image] = []
    for part in turn.parts:
        sent = _part(part, model)
        if sent is None:
            continue
        signature = _signature(part) if own else None
        if signature is None and first_call and isinstance(part, ToolCall) and model.thinking != "budget":
            signature = FOREIGN_CALL
        first_call = first_call and not isinstance(part, ToolCall)
        if signature is not None:
            sent["thoughtSignature"] = signature
        if _has_content(part, signature, own):
            yield sent
        if isinstance(part, ToolResult) and not _takes_media(model):
            pictures += part.images
    # After everything else, because nothing may come between the responses of one step.
    yield from map(_image, pictures)


def _signature(part: Part | ToolResult) -> str | None:
    meta = None if isinstance(part, ToolResult) else part.meta
    text = meta[KIND].get(SIGNATURE) if meta and KIND in meta else None
    return text.translate(_URL_SAFE) if text else None


_URL_SAFE = str.maketrans("+/", "-_")
"""Base64 as the SDK writes it."""


def _has_content(part: Part | ToolResult, signature: str | None, own: bool) -> bool:
    match part:
        case Text(text):
            return bool(text.strip()) or signature is not None
        case Thinking():
            return own and signature is not None
        case _:
            return True


def _part(part: Part | ToolResult, model: ModelSpec) -> Json | None:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text):
            return {"text": text, "thought": True}
        case Image():
            return _image(part)
        case File():
            return {"text": attachment(part)}
        case ToolCall(call_id, name, arguments):
            return {"functionCall": {"id": call_id, "args": dict(arguments), "name": wire_name(name)}}
        case ToolResult():
            return {"functionResponse": _response(part, model)}


def _image(image: Image) -> Json:
    return {"inlineData": {"data": image.data.translate(_URL_SAFE), "mimeType": image.mime}}


def _response(result: ToolResult, model: ModelSpec) -> Json:
    key = "error" if result.failed else "output"
    response: Json = {"id": result.call_id, "name": wire_name(result.name), "response": {key: result.output}}
    if result.images and _takes_media(model):
        response["parts"] = [_image(image) for image in result.images]
    return response


def _takes_media(model: ModelSpec) -> bool:
    """Return True if a function response may contain media, as from the third generation on."""
    return model.thinking != "budget"


def _thinking(request: Request) -> Json:
    options = request.options
    wanted = options.get("thinking", True)
    if wanted is None:
        return {}
    config: Json = {"include_thoughts": bool(wanted)}
    match request.model.thinking:
        case "level":
            level = "high" if options.get("effort") == "max" else options.get("effort") or ("" if wanted else "low")
            return {"thinkingConfig": config | ({"thinking_level": level.upper()} if level else {})}
        case "budget":
            budget = wanted_budget(options) if wanted else None
            return {"thinkingConfig": config | ({"thinking_budget": budget} if budget else {})}
        case _:
            return {}

"""A request as Gemini's generateContent wants it: pure, so that equal requests give equal bytes.

Settings are in the SDK's field names, which those of the wire follow from; contents are in those of the wire, which the SDK takes too.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.core.message import SIGNATURE, File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.body import BodyWriter, WireMessages
from agentcli.providers.google.models import KIND
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.thinking import wanted_budget
from agentcli.providers.wire import attachment, fit_to_send, wire_name

Json = dict[str, Any]

FOREIGN_CALL = base64.urlsafe_b64encode(b"skip_thought_signature_validator").decode()
"""Stands in for the signature of a call that this provider did not make; documented for histories from elsewhere."""

_PLAIN_SCHEMA = frozenset(
    {"type", "description", "properties", "required", "items", "enum", "nullable", "minimum", "maximum"}
)


def to_body(request: Request, settings: ProviderSettings, former: Former) -> bytes:
    """The body of a request for a reply. What stands in `former` too is not made again.

    `request.options` may hold `thinking` (bool, default true; None sends nothing about it), `effort` (minimal … xhigh, for models of style "level") and
    `thinking_budget` (tokens, -1 for the model's choice, for models of style "budget"; else by `effort`, or the model's choice),
    and `temperature`.
    """
    messages = former.messages.of(request.messages, request.model)
    fields = {**former.beginning(request), "generationConfig": _generation(_reply_settings(request))}
    return former.writer.write(_with(fields, settings.extra_body), "contents", messages, {})


def to_sdk(request: Request, settings: ProviderSettings) -> Json:
    """The same request as the arguments of the SDK's `generate_content_stream`."""
    config = fit_to_send(_beginning(request)) | _reply_settings(request) | _BY_OURSELVES
    if settings.extra_body:
        config["http_options"] = {"extra_body": fit_to_send(dict(settings.extra_body))}
    return {"model": request.model.id, "contents": typed(_contents(request)), "config": config}


_BY_OURSELVES: Json = {"automatic_function_calling": {"disable": True}, "automatic_continuation": False}


class Former:
    """The newest request as it was sent: its messages, system text and tools, for the next one."""

    def __init__(self) -> None:
        self.messages = WireMessages(_formed, "parts")
        self.writer = BodyWriter()
        self._beginning: tuple[object, Json] = ((), {})

    def beginning(self, request: Request) -> Json:
        """System text and tools."""
        fixed = request.system, request.tools
        if self._beginning[0] != fixed:
            self._beginning = fixed, _wire_beginning(_beginning(request))
        return self._beginning[1]


def _contents(request: Request) -> list[Json]:
    return fit_to_send(Former().messages.of(request.messages, request.model).messages)


def _beginning(request: Request) -> Json:
    begin: Json = {}
    system = [{"text": text} for text in request.system if text.strip()]
    if system:
        begin["system_instruction"] = {"parts": system}
    if request.tools:
        begin["tools"] = [{"function_declarations": [_tool(tool) for tool in request.tools]}]
    return begin


def _reply_settings(request: Request) -> Json:
    config: Json = {"max_output_tokens": min(request.max_output, request.model.max_output)}
    if "temperature" in request.options:
        config["temperature"] = request.options["temperature"]
    return config | _thinking(request)


def _formed(message: RequestMessage, model: ModelSpec) -> Sequence[Json]:
    parts = [*_parts(message, model)]
    return [{"role": "model" if message.role == "assistant" else "user", "parts": parts}] if parts else []


def _generation(settings: Json) -> Json:
    """The settings of a reply under their names on the wire."""
    generation = {_camel(name): value for name, value in settings.items()}
    if "thinking_level" in (thinking := generation.get("thinkingConfig", {})):
        generation["thinkingConfig"] = thinking | {"thinking_level": thinking["thinking_level"].upper()}
    return generation


def _wire_beginning(config: Json) -> Json:
    """System text and tools under their names on the wire."""
    body: Json = {}
    if "system_instruction" in config:
        body["systemInstruction"] = config["system_instruction"]
    if "tools" in config:
        declared = config["tools"][0]["function_declarations"]
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in declared]}]
    return body


def _declaration(tool: Json) -> Json:
    return tool | ({"parameters": _plain(tool["parameters"])} if "parameters" in tool else {})


def _plain(schema: Json) -> Json:
    """A plain schema with the names of types as the wire has them."""
    made = schema | {"type": schema["type"].upper()}
    if "properties" in schema:
        made["properties"] = {name: _plain(inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        made["items"] = _plain(schema["items"])
    return made


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _with(body: Json, extra: Mapping[str, Any]) -> Json:
    """A body with the user's own fields in it, written in either case, as the SDK merges them."""
    names = {name.replace("_", "").lower(): name for name in body}
    merged = dict(body)
    for given, value in extra.items():
        name = names.get(given.replace("_", "").lower(), given)
        inner = merged.get(name)
        merged[name] = _with(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged


def typed(contents: list[Json]) -> list[Json]:
    """Contents as the SDK takes them: bytes, where the wire has base64."""

    def decoded(part: Json) -> Json:
        for name, value in part.items():
            if name == "thoughtSignature":
                part = {**part, name: base64.urlsafe_b64decode(value)}
            elif name == "inlineData":
                part = {**part, name: {**value, "data": base64.urlsafe_b64decode(value["data"])}}
            elif name == "functionResponse" and "parts" in value:
                part = {**part, name: {**value, "parts": [decoded(one) for one in value["parts"]]}}
        return part

    return [{**content, "parts": [decoded(part) for part in content["parts"]]} for content in contents]


def countable(request: Request) -> list[Json]:
    """The contents with system text and tools put in front as text, for the counting endpoint, which takes neither."""
    tools = (f"{tool.name}\n{tool.description}\n{dict(tool.parameters)}" for tool in request.tools)
    head = fit_to_send([{"text": text} for text in (*request.system, *tools) if text.strip()])
    found = _contents(request)
    if found and found[0]["role"] == "user":
        found = [{**found[0], "parts": [*head, *found[0]["parts"]]}, *found[1:]]
    elif head:
        found = [{"role": "user", "parts": head}, *found]
    return found


def _tool(tool: ToolSchema) -> Json:
    """The plain form of a schema where it can say all, as every version of the API takes it; else JSON Schema as it is."""
    form = "parameters" if _is_plain(tool.parameters) else "parameters_json_schema"
    declared: Json = {"name": tool.name, "description": tool.description}
    return declared | ({form: dict(tool.parameters)} if tool.parameters.get("properties") else {})


def _is_plain(schema: Any) -> bool:
    if (
        not isinstance(schema, Mapping)
        or not isinstance(schema.get("type"), str)
        or not _PLAIN_SCHEMA.issuperset(schema)
    ):
        return False
    if schema["type"] == "object" and not schema.get("properties"):
        return False
    if not all(isinstance(value, str) for value in schema.get("enum", ())):
        return False
    return all(
        map(_is_plain, [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])])
    )


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
    # After everything else, because nothing may stand between the responses to one step.
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
    """True if a function response may hold media, as from the third generation on."""
    return model.thinking != "budget"


def _thinking(request: Request) -> Json:
    options = request.options
    wanted = options.get("thinking", True)
    if wanted is None:
        return {}
    match request.model.thinking:
        case "level":
            config: Json = {"include_thoughts": bool(wanted)}
            if options.get("effort"):
                config["thinking_level"] = "high" if options["effort"] == "max" else options["effort"]
            elif not wanted:
                config["thinking_level"] = "low"
            return {"thinking_config": config}
        case "budget":
            config = {"include_thoughts": bool(wanted)}
            if wanted and (budget := wanted_budget(options)):
                config["thinking_budget"] = budget
            return {"thinking_config": config}
        case _:
            return {}

"""Capabilities of an endpoint: optional request fields that a server may refuse, and the request without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from agentcli.core.message import Image, Part, Text, ToolCall, ToolResult
from agentcli.core.model import Request, RequestMessage, ToolSchema
from agentcli.providers.endpoint_facts import DAY, Learnt
from agentcli.providers.provider import Wording
from agentcli.providers.wire import short_id

TITLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "thinking": ("thinking", "it answers without"),
        "summaries": ("summaries of its thoughts", "they are not shown"),
        "thoughts": ("its own earlier thoughts", "it continues without them"),
        "effort": ("an effort", "it thinks as much as it does by default"),
        "context_editing": ("context_management", "agentcli clears old outputs itself"),
        "compaction": ("its own summaries of a conversation", "they are sent as text"),
        "cache": ("cache marks", "every request is paid in full unless it caches by itself"),
        "system_messages": ("system messages between others", "reminders travel in the user's message"),
        "deferred_tools": ("tools that are loaded later", "their definitions travel as text"),
        "result_images": ("images in tool results", "they follow in a message of the user"),
        "images": ("images", "they are left out"),
        "counting": ("token counting", "sizes are estimated"),
        "stream_options": ("stream_options", "sizes are estimated unless it reports usage unasked"),
        "max_tokens": ("max_tokens", "the limit of a reply is called max_completion_tokens"),
        "call_ids": ("ids of calls as they are", "they are sent in nine letters and digits"),
        "usage": ("usage in the stream", "tokens, cost and budgets do not count what it does"),
    }
)
"""Each capability: its name for people, and how agentcli works without it."""
SCHEMA = "schema:"
"""Prefix of the capability of one keyword in tool schemas."""
ESSENTIAL = frozenset({"type", "properties", "items"})
"""Keywords without which a schema is meaningless."""
_LEFT_OUT = "[An image was left out: this model takes none.]"


def title(capability: str) -> str:
    """Return the name of a capability for people."""
    keyword = capability.removeprefix(SCHEMA)
    return TITLES[capability][0] if capability in TITLES else f"the schema keyword {keyword}"


def limits(model: str, learnt: Learnt, days: float) -> str:
    """Describe the known limits of an endpoint, when they expire, and how to forget them; empty if there are none.

    Findings apply for so many `days`.
    """
    missing = f"continues without {', '.join(map(title, sorted(learnt.since)))}" if learnt.since else ""
    window = f"has a window of {learnt.window:,} tokens" if learnt.window else ""
    found = [*learnt.since.values(), *([learnt.window_since] if window else [])]
    if not found:
        return ""
    since, until = (datetime.fromtimestamp(each, UTC).date() for each in (min(found), max(found) + days * DAY))
    what = "; ".join(filter(None, (missing, window)))
    return f"{what} (found out on {since}, counts until {until}; `agentcli models --forget {model}` ends it)"


def reduced(request: Request, lacking: Iterable[str]) -> Request:
    """Return the request without these capabilities, for any wire format."""
    for capability in lacking:
        request = _without(request, capability)
    return request


def stated_in(answer: str, request: Request, fields: Mapping[str, Wording]) -> set[str]:
    """Return the capabilities in this request that a refusal states the server does not accept."""
    from agentcli.providers.refusals import stated

    capabilities, keywords = stated(answer, fields, frozenset(_keywords(request)))
    return {each for each in capabilities if _uses(request, each)} | {SCHEMA + keyword for keyword in keywords}


def mentioned_in(answer: str, request: Request, fields: Mapping[str, Wording]) -> set[str]:
    """Return the capabilities in this request that a refusal mentions; images are parts, which `parts` finds."""
    from agentcli.providers.refusals import mentioned

    return {each for each in mentioned(answer, fields) if each != "images" and _uses(request, each)}


def _uses(request: Request, capability: str) -> bool:
    return _without(request, capability) != request


def _without(request: Request, capability: str) -> Request:
    options, model = request.options, request.model
    match capability:
        case "thinking" if options.get("thinking", True) is not None and model.thinking != "none":
            return _with_options(request, thinking=None)
        case "effort" if options.get("effort"):
            return _with_options(request, effort="")
        case "context_editing":
            return replace(request, context_edits=None)
        case "compaction" if request.compaction is None:
            return replace(request, messages=tuple(map(_legible, request.messages)))
        case "cache":
            return replace(_with_options(request, session="") if options.get("session") else request, breakpoints=())
        case "stream_options":
            return _with_options(request, stream_options=False)
        case "max_tokens":
            return _with_options(request, max_completion_tokens=True)
        case "summaries" if options.get("summaries", True):
            return _with_options(request, summaries=False)
        case "thoughts":
            return replace(request, messages=tuple(message.without_thinking for message in request.messages))
        case "call_ids":
            return replace(request, messages=tuple(map(_with_short_ids, request.messages)))
        case "system_messages":
            return replace(request, model=replace(model, system_messages=False))
        case "deferred_tools":
            return replace(request, deferred=())
        case "result_images":
            return replace(request, messages=tuple(map(_images_behind, request.messages)))
        case "images":
            return replace(request, messages=tuple(map(_imageless, request.messages)))
        case _ if capability.startswith(SCHEMA):
            return _without_keyword(request, capability.removeprefix(SCHEMA))
        case _:
            return request


def _with_options(request: Request, **changed: object) -> Request:
    return replace(request, options={**request.options, **changed})


def _without_keyword(request: Request, keyword: str) -> Request:
    """Return the request with a JSON Schema keyword removed from all tools."""

    def stripped(tools: Iterable[ToolSchema]) -> tuple[ToolSchema, ...]:
        return tuple(replace(tool, parameters=_stripped(tool.parameters, keyword)) for tool in tools)

    return replace(request, tools=stripped(request.tools), deferred=stripped(request.deferred))


def _legible(message: RequestMessage) -> RequestMessage:
    """Keep only the text of a provider's own summary that any model can read."""
    if not any(_is_summary(part) for part in message.parts):
        return message
    parts = (
        replace(part, meta=None) if isinstance(part, Text) and _is_summary(part) else part for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _is_summary(part: Part | ToolResult) -> bool:
    return isinstance(part, Text) and part.source == "compactor" and part.meta is not None


def _with_short_ids(message: RequestMessage) -> RequestMessage:
    """Shorten the ids of a message's calls and results to the form of the strictest server."""
    return replace(
        message,
        parts=tuple(
            replace(part, call_id=short_id(part.call_id)) if isinstance(part, ToolCall | ToolResult) else part
            for part in message.parts
        ),
    )


def _images_behind(message: RequestMessage) -> RequestMessage:
    """Move images of the message's tool results after all results."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    if not any(result.images for result in results):
        return message
    bare = [replace(result, images=(), output=result.output or "The image follows.") for result in results]
    images = [image for result in results for image in result.images]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    return replace(message, parts=(*bare, *images, *rest))


def _imageless(message: RequestMessage) -> RequestMessage:
    def bare(part: Part | ToolResult) -> Part | ToolResult:
        match part:
            case Image():
                return Text(_LEFT_OUT)
            case ToolResult() if part.images:
                return replace(part, images=(), output=f"{part.output}\n{_LEFT_OUT}".lstrip("\n"))
            case _:
                return part

    return replace(message, parts=tuple(map(bare, message.parts)))


def _keywords(request: Request) -> set[str]:
    """Return the keywords in the schemas of tools, except the essential ones."""
    found: set[str] = set()
    waiting: list[Any] = [tool.parameters for tool in (*request.tools, *request.deferred)]
    while waiting:
        schema = waiting.pop()
        found |= set(schema)
        waiting += _inner(schema)
    return found - ESSENTIAL


def _inner(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas directly inside a schema."""
    properties = schema.get("properties")
    named = properties.values() if isinstance(properties, Mapping) else ()
    values = [*named, *(value for key, value in schema.items() if key != "properties")]
    lists = [item for value in values if isinstance(value, list | tuple) for item in value]
    return [each for each in (*values, *lists) if isinstance(each, Mapping)]


def _stripped(schema: Mapping[str, Any], keyword: str) -> dict[str, Any]:
    """Remove a keyword from the schema, at every depth."""

    def inner(key: str, value: Any) -> Any:
        match value:
            case Mapping() if key == "properties":
                return {name: inner("", each) for name, each in value.items()}
            case Mapping():
                return _stripped(value, keyword)
            case list() | tuple():
                return [inner("", each) for each in value]
            case _:
                return value

    return {key: inner(key, value) for key, value in schema.items() if key != keyword}

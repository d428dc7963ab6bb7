"""Capabilities of an endpoint: optional fields of a request that a server may refuse, and the model that continues without them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.event import Noticed
from agentcli.core.message import Image, Part, Text, ToolCall, ToolResult
from agentcli.core.model import Model, ModelSpec, Request, RequestMessage, Stopped, StreamEvent, ToolSchema, UsageSeen
from agentcli.core.streams import closing
from agentcli.providers.context_windows import loaded_window, stated_window, window_in
from agentcli.providers.endpoint_facts import EndpointMemory, Learnt
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
"""Prefix of the capability of one keyword in the schemas of tools."""
WINDOW_SECONDS = 2.0
"""Seconds for each question about a window."""
ESSENTIAL = frozenset({"type", "properties", "items"})
"""Keywords without which a schema says nothing."""
_COMMON_WORDS = frozenset({"required", "description", "title", "default", "format", "pattern", "minimum", "maximum"})
"""Keywords that error messages use as words: they count only in quotes or in a path."""
_LEFT_OUT = "[An image was left out: this model takes none.]"


def title(capability: str) -> str:
    """Return the name of a capability for people."""
    keyword = capability.removeprefix(SCHEMA)
    return TITLES[capability][0] if capability in TITLES else f"the schema keyword {keyword}"


def gaps(learnt: Learnt) -> str:
    """Describe an endpoint's missing capabilities in a line, with the day of the first finding; empty if there are none."""
    if not learnt.since:
        return ""
    first = datetime.fromtimestamp(min(learnt.since.values()), UTC).date()
    return f"continues without {', '.join(map(title, sorted(learnt.since)))} (found out on {first})"


def reduced(request: Request, lacking: Iterable[str]) -> Request:
    """Return the request without these capabilities, for any wire format."""
    for capability in lacking:
        request = _without(request, capability)
    return request


def named(answer: str, request: Request, fields: Mapping[str, str]) -> set[str]:
    """Return the capabilities that this request uses and a server's refusal names.

    `fields` holds a pattern for each, of the wire format's own field names; text that one pattern matches does not
    count for later ones.
    """
    text, found = answer.lower(), set()
    for capability, wording in fields.items():
        if re.search(wording, text) and _without(request, capability) != request:
            found.add(capability)
            text = re.sub(wording, " ", text)
    if re.search(r"schema|parameters|propert|declaration|tools?\b|keyword", text):
        found |= {SCHEMA + keyword for keyword in _keywords(request) if re.search(_in_words(keyword.lower()), text)}
    return found


class CapableModel:
    """A Model that continues without the fields that its endpoint refuses: it says so once, retries at once, and remembers.

    `fields` holds the wire format's names of capabilities, for `named`.
    """

    def __init__(
        self,
        model: Model,
        fields: Mapping[str, str],
        memory: EndpointMemory,
        url: str = "",
        key: str | None = None,
        explained: Callable[[ModelError], ModelError] = lambda error: error,
    ) -> None:
        """Wrap a model; `url` and `key` belong to a server of the user's own, which may state the window, else empty.

        `explained` turns the error of a refused key into one that names the key.
        """
        self._explained = explained
        self._model, self._fields, self._memory, self._url, self._key = model, fields, memory, url, key
        learnt = memory.known(model.spec.name, url)
        self._lacking: Set[str] = learnt.lacking
        self._window = learnt.window
        self._uncounted = self._asked = self._loaded = False

    @property
    def spec(self) -> ModelSpec:
        """Spec of the wrapped model, with the window that the server states if ours is a guess or larger."""
        spec, window = self._model.spec, self._window
        if spec.context_editing and "context_editing" in self._lacking:
            spec = replace(spec, context_editing=False)
        if spec.compacts_from and "compaction" in self._lacking:
            spec = replace(spec, compacts_from=0)
        if not window or (spec.known and window >= spec.window):
            return spec
        return replace(spec, window=window, max_output=min(spec.max_output, window // 2), window_stated=True)

    async def prepare(self) -> None:
        """Ask a server of the user's own, once, for the window of a model that is in no table."""
        if self._asked or self._window or not self._url or self._model.spec.known:
            return
        import asyncio

        self._asked = True
        window = await asyncio.to_thread(stated_window, self._url, self._model.spec.id, self._key, WINDOW_SECONDS)
        self._learn_window(window)

    async def _ask_loaded(self) -> None:
        """Ask a server of the user's own, once, for the window of the loaded model: it may be smaller than the model's own."""
        if self._loaded or not self._url or self._model.spec.known:
            return
        import asyncio

        self._loaded = True
        window = await asyncio.to_thread(loaded_window, self._url, self._model.spec.id, self._key, WINDOW_SECONDS)
        if window != self._window:
            self._learn_window(window)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply as `Model.stream`. If a refusal names a field, send the same request without it."""
        suspected = {"counting"} if self._uncounted else set()
        while True:
            started = counted = False
            sent = reduced(request, self._lacking | suspected)
            try:
                async with closing(self._model.stream(sent)) as steps:
                    async for step in steps:
                        if not started:
                            for notice in self._learn(suspected):
                                yield notice
                        started, counted = True, counted or (isinstance(step, UsageSeen) and step.usage.total > 0)
                        if isinstance(step, Stopped) and not counted:
                            for notice in self._learn({"usage"}):
                                yield notice
                        yield step
                await self._ask_loaded()
                return
            except ModelError as error:
                if error.cause == "auth":
                    raise self._explained(error) from error
                if error.cause == "too_long" and (window := window_in(error.answer)) < self.spec.window:
                    self._learn_window(window)
                refused = set() if started or error.cause != "bad_request" else named(error.answer, sent, self._fields)
                if not refused:
                    raise
                suspected |= refused

    async def count(self, request: Request) -> int | None:
        """Count tokens as `Model.count`. An endpoint without counting is not asked again."""
        if "counting" in self._lacking or self._uncounted:
            return None
        try:
            return await self._model.count(reduced(request, self._lacking))
        except ModelError:
            self._uncounted = True
            return None

    async def close(self) -> None:
        """Close the wrapped model, if it has anything open."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _learn_window(self, window: int) -> None:
        if window:
            self._window = window
            self._memory.learn(self.spec.name, self._url, window=window)

    def _learn(self, capabilities: Iterable[str]) -> Iterator[Noticed]:
        """Remember missing capabilities; yield a notice for each new one."""
        for capability in sorted(set(capabilities) - self._lacking):
            self._lacking = self._lacking | {capability}
            self._memory.learn(self.spec.name, self._url, lacking=[capability])
            how = TITLES[capability][1] if capability in TITLES else "tools are described without it"
            days = f"{self._memory.days:g} days"
            verb = "reports no" if capability == "usage" else "has no" if capability == "counting" else "does not take"
            yield Noticed(f"{self.spec.name} {verb} {title(capability)}: {how}. Remembered for {days}.")


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
    """Return the request with a keyword of JSON Schema left out of all tools."""

    def stripped(tools: Iterable[ToolSchema]) -> tuple[ToolSchema, ...]:
        return tuple(replace(tool, parameters=_stripped(tool.parameters, keyword)) for tool in tools)

    return replace(request, tools=stripped(request.tools), deferred=stripped(request.deferred))


def _legible(message: RequestMessage) -> RequestMessage:
    """Leave of a provider's own summary only the text that any model can read."""
    if not any(_is_summary(part) for part in message.parts):
        return message
    parts = (
        replace(part, meta=None) if isinstance(part, Text) and _is_summary(part) else part for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _is_summary(part: Part | ToolResult) -> bool:
    return isinstance(part, Text) and part.source == "compactor" and part.meta is not None


def _with_short_ids(message: RequestMessage) -> RequestMessage:
    """Shorten the ids of the message's calls and results to the form that the strictest server takes."""
    return replace(
        message,
        parts=tuple(
            replace(part, call_id=short_id(part.call_id)) if isinstance(part, ToolCall | ToolResult) else part
            for part in message.parts
        ),
    )


def _images_behind(message: RequestMessage) -> RequestMessage:
    """Move the images of the message's tool results after all results."""
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
    """Return the keywords in the schemas of the tools, without the essential ones."""
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


def _in_words(keyword: str) -> str:
    word = re.escape(keyword)
    if keyword in _COMMON_WORDS:
        return rf"""["'`./\[]{word}\b|\b{word}["'`\]]|keyword:? {word}\b"""
    return rf"(?<![\w-]){word}(?![\w-])"

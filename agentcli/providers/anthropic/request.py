"""Request in the form of the Messages API: pure, so that equal requests give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.mcp_servers import LOADED
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import (
    MOST_BREAKPOINTS,
    Breakpoint,
    ContextEdits,
    ModelSpec,
    Request,
    RequestMessage,
    ToolSchema,
)
from agentcli.providers.anthropic.models import KIND, LEAST_COMPACTED
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.settings import ProviderSettings, is_vendor
from agentcli.providers.wire import (
    BodyWriter,
    WireMessages,
    attachment,
    budget_within,
    fit_to_send,
    joined,
    wire_id,
    wire_name,
)

Json = dict[str, Any]

_CACHED = {"type": "ephemeral"}
_INTERLEAVED = "interleaved-thinking-2025-05-14"
"""Lets models of style "budget" think between tool calls; other models ignore it."""
_EDITING = "context-management-2025-06-27"
"""Without it, `context_management` is refused."""
_COMPACTING = "compact-2026-01-12"
"""Without it, the edit `compact_20260112` and blocks of type `compaction` are refused."""
_NEVER = 100_000_000
"""A trigger that no prompt reaches. Blocks are refused without the edit, which therefore is always on."""
_UNCACHEABLE = ("thinking", "redacted_thinking")
_SEARCH: Json = {"type": "web_search_20250305", "name": "web_search"}
"""The version of the vendor's search tool that all its models accept."""


def to_wire(request: Request, settings: ProviderSettings) -> Json:
    """Return the arguments of the SDK's `messages.create`.

    `request.options` may have `thinking`, a bool that is true by default. Models of style "budget" think only on
    request. `effort` is low … max. `thinking_budget`, in tokens, is for models of style "budget"; without it, `effort`
    decides. Claude does not accept a `temperature`, so none is sent.
    """
    former = Former()
    arguments, marked = _arguments(request, settings, former)
    messages = [marked.get(number, message) for number, message in enumerate(former.messages.messages)]
    return fit_to_send({**arguments, "messages": messages})


def to_body(
    request: Request, settings: ProviderSettings, former: Former, *, counting: bool = False
) -> tuple[bytes, Mapping[str, str]]:
    """Return the body of a streaming `POST /v1/messages`, or of a request that counts its tokens, and its own headers.

    Parts in `former` are not built again.
    """
    arguments, marked = _arguments(request, settings, former)
    headers: Mapping[str, str] = arguments.pop("extra_headers", {})
    extra = arguments.pop("extra_body", {})
    if counting:
        del arguments["max_tokens"]
    fields = {**arguments, **({} if counting else {"stream": True}), **extra}
    return former.writer.write(fields, "messages", former.messages, marked), headers


def _arguments(request: Request, settings: ProviderSettings, former: Former) -> tuple[Json, Marked]:
    """Return the arguments without the messages, which are then in `former`, and the messages with a cache mark."""
    deferred, operator = _deferred(request, settings), request.model.system_messages and settings.name == KIND
    rules = Rules(request.model, frozenset(tool.name for tool in deferred), operator)
    messages = former.messages.of(request.messages, rules)
    marks = _chosen(request.breakpoints) if settings.caching and request.model.cache_explicit else []
    system, tools = former.head(request, deferred, any(mark.message < 0 for mark in marks))
    wire: Json = {"model": request.model.id, "max_tokens": min(request.max_output, request.model.max_output)}
    if system:
        wire["system"] = system
    if tools:
        wire["tools"] = tools
    wire |= _thinking(request, messages.messages, wire["max_tokens"])
    clears = wire_edits(request.context_edits, thinks="thinking" in wire) if request.context_edits else []
    compacts = _compaction(request.compaction, messages.messages)
    edits = [*clears, *compacts]
    used = ((_INTERLEAVED, _is_interleaved(wire, settings)), (_EDITING, clears), (_COMPACTING, compacts))
    betas = [name for name, needed in used if needed]
    if betas:
        wire["extra_headers"] = {"anthropic-beta": ",".join(dict.fromkeys((*settings.beta_headers, *betas)))}
    managed = {"context_management": {"edits": edits}} if edits else {}
    if extra := managed | _extra_body(request.model.id, settings):
        wire["extra_body"] = extra
    return wire, _marked(marks, request.messages, messages, rules)


def _extra_body(model: str, settings: ProviderSettings) -> Json:
    """Return fields beside the SDK's own, the user's last."""
    platform = PLATFORMS.get(settings.platform)
    version = platform.version(model) if platform else ""
    return ({"anthropic_version": version} if version else {}) | dict(settings.extra_body)


def _deferred(request: Request, settings: ProviderSettings) -> tuple[ToolSchema, ...]:
    return request.deferred if request.deferred and is_vendor(settings) else ()


def wire_edits(edits: ContextEdits, *, thinks: bool) -> list[Json]:
    """Return the edits of `context_management`: thoughts first, and only if the request lets the model think."""
    kind = "tool_uses" if edits.counts_uses else "input_tokens"
    uses: Json = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": kind, "value": edits.trigger},
        "keep": {"type": "tool_uses", "value": edits.keep},
    }
    if edits.at_least:
        uses["clear_at_least"] = {"type": "input_tokens", "value": edits.at_least}
    if edits.exclude:
        uses["exclude_tools"] = list(edits.exclude)
    if edits.inputs:
        uses["clear_tool_inputs"] = list(edits.inputs)
    turns = edits.thinking_turns
    keep: Any = {"type": "thinking_turns", "value": turns} if turns else "all"
    return [*([{"type": "clear_thinking_20251015", "keep": keep}] if thinks else []), uses]


def _compaction(instructions: str | None, messages: Sequence[Json]) -> list[Json]:
    """Return the edit that compacts now, or the edit that an earlier compaction's summary needs; else none."""
    edit: Json = {"type": "compact_20260112"}
    if instructions is not None:
        trigger = {"type": "input_tokens", "value": LEAST_COMPACTED}
        return [{**edit, "trigger": trigger, "pause_after_compaction": True, "instructions": instructions}]
    # It follows the first message, if there is one.
    if any(block["type"] == "compaction" for message in messages[:2] for block in message["content"]):
        return [{**edit, "trigger": {"type": "input_tokens", "value": _NEVER}}]
    return []


def _is_interleaved(wire: Json, settings: ProviderSettings) -> bool:
    return settings.name == KIND and wire.get("thinking", {}).get("type") == "enabled"


def _tool(tool: ToolSchema) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for the wire form of messages: for this model, with references to the `deferred` tools.

    With `operator`, agentcli's own reminders are sent as system messages right after the user's turn. Then the model
    knows who wrote them, and they never come between a call and its result.
    """

    model: ModelSpec
    deferred: frozenset[str]
    operator: bool


class Former:
    """The newest request as sent: its messages, system text and tools, for the next one."""

    def __init__(self) -> None:
        self.messages = WireMessages(_formed, joined("content"))
        self.writer = BodyWriter()
        self._head: tuple[object, tuple[list[Json], list[Json]]] = ((), ([], []))

    def head(
        self, request: Request, deferred: Sequence[ToolSchema], marked: bool
    ) -> tuple[Sequence[Json], Sequence[Json]]:
        """Return system text and tools; the last part that a cache compares first may have a mark."""
        fixed = request.system, request.tools, deferred, marked, request.searches
        if self._head[0] != fixed:
            system = [{"type": "text", "text": text} for text in request.system if text.strip()]
            tools = [_tool(tool) for tool in request.tools]
            tools += [{**_SEARCH, "max_uses": request.searches}] if request.searches else []
            if marked and (last := system or tools):
                last[-1] = _with_mark(last[-1])
            # After the mark: these parts do not count for a cache, and may have no mark.
            tools += [{**_tool(tool), "defer_loading": True} for tool in deferred]
            self._head = fixed, (system, tools)
        return self._head[1]


def _formed(source: RequestMessage, rules: Rules) -> Sequence[Json]:
    """Return the wire messages of a request's message; none if it has only reminders that cannot be sent."""
    if rules.operator and source.role == "user":
        content, reminders, _ = _blocks(source, rules)
    else:
        blocks = [_block(part, source, rules) for part in source.parts]
        content, reminders = [block for block in blocks if block is not None], []
    if not content:
        return ()
    message = {"role": source.role, "content": content}
    return (message, {"role": "system", "content": reminders}) if reminders else (message,)


def _blocks(source: RequestMessage, rules: Rules) -> tuple[list[Json], list[Json], list[int]]:
    """Return the blocks of a message, the reminders that follow it, and the indexes of the blocks' parts."""
    blocks = [(index, _block(part, source, rules)) for index, part in enumerate(source.parts)]
    sent = [(index, block) for index, block in blocks if block is not None]
    apart: set[int] = set()
    if rules.operator and source.role == "user":
        apart = {index for index, part in enumerate(source.parts) if _is_reminder(part)}
        apart = apart if len(apart) < len(source.parts) else set()
    content = [block for index, block in sent if index not in apart]
    reminders = [block for index, block in sent if index in apart] if apart else []
    return content, reminders, [index for index, _ in sent if index not in apart]


def _is_reminder(part: Part | ToolResult) -> bool:
    return isinstance(part, Text) and part.synthetic and part.source == "reminder"


def _block(part: Part | ToolResult, turn: RequestMessage, rules: Rules) -> Json | None:
    model = rules.model
    if isinstance(part, ToolResult):
        return _result(part, rules.deferred)
    match part:
        case Text(text, _, _, meta):
            raw = _own(meta, turn, model)
            if raw is not None and "type" in raw and (raw["type"] != "compaction" or turn.model == model.id):
                return dict(raw)
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking():
            return _thought(part, turn, model)
        case Image():
            return _image(part)
        case File():
            return {"type": "text", "text": attachment(part)}
        case ToolCall(call_id, name, arguments, meta):
            block: Json = {
                "type": "tool_use",
                "id": wire_id(call_id),
                "name": wire_name(name),
                "input": dict(arguments),
            }
            own = _own(meta, turn, model)
            return {**block, **own} if own else block


def _own(meta: Mapping[str, Any] | None, turn: RequestMessage, model: ModelSpec) -> Mapping[str, Any] | None:
    """Return this provider's metadata of a part; another provider's is opaque and is not sent."""
    return meta.get(KIND) if meta and turn.provider == model.provider else None


def _thought(part: Thinking, turn: RequestMessage, model: ModelSpec) -> Json | None:
    """Return a thinking block only for the model that wrote it: signatures depend on model, position and prefix."""
    if (turn.provider, turn.model) != (model.provider, model.id):
        return None
    raw = _own(part.meta, turn, model)
    if raw is not None and "type" in raw:
        return dict(raw)
    return {"type": "thinking", "thinking": part.text, "signature": part.signature} if part.signature else None


def _image(image: Image) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime, "data": image.data}}


def _result(result: ToolResult, deferred: Set[str]) -> Json:
    content: str | list[Json] = result.output
    loaded = [tool["name"] for tool in result.metadata.get(LOADED, ())] if deferred else []
    if loaded and deferred >= {*loaded}:
        content = [{"type": "tool_reference", "tool_name": name} for name in loaded]
    if result.images:
        text = [{"type": "text", "text": content}] if result.output.strip() else []
        content = [*text, *map(_image, result.images)]
    block: Json = {"type": "tool_result", "tool_use_id": wire_id(result.call_id), "content": content}
    return {**block, "is_error": True} if result.failed else block


Marked = dict[int, Json]
"""The messages with a cache mark, by their number on the wire."""


def _chosen(breakpoints: Sequence[Breakpoint]) -> Sequence[Breakpoint]:
    """Return the marks in the order of the request; if there are too many, the newest."""
    ordered = sorted(breakpoints, key=lambda point: (point.message, point.part if point.part >= 0 else 1 << 30))
    too_many = len(ordered) > MOST_BREAKPOINTS
    return [*ordered[:1], *ordered[1 - MOST_BREAKPOINTS :]] if too_many else ordered


def _marked(
    marks: Sequence[Breakpoint], source: Sequence[RequestMessage], messages: WireMessages[Rules], rules: Rules
) -> Marked:
    """Return the messages with these marks; a mark on a part that is not sent moves back within its turn."""
    marked: Marked = {}
    for point in marks:
        if not 0 <= point.message < len(source):
            continue
        content, _, parts = _blocks(source[point.message], rules)
        last = _last_cacheable(point, content, parts)
        if last is not None:
            number, offset = messages.places[point.message]
            message = marked.get(number, messages.messages[number])
            blocks = list(message["content"])
            blocks[offset + last] = _with_mark(blocks[offset + last])
            marked[number] = {**message, "content": blocks}
    return marked


def _with_mark(block: Json) -> Json:
    return {**block, "cache_control": dict(_CACHED)}


def _last_cacheable(point: Breakpoint, content: Sequence[Json], parts: Sequence[int]) -> int | None:
    """Return the index of the message's block for this mark."""
    candidates = (
        number
        for number, part in enumerate(parts)
        if (point.part < 0 or part <= point.part) and content[number]["type"] not in _UNCACHEABLE
    )
    return max(candidates, default=None)


def _thinking(request: Request, messages: Sequence[Json], max_tokens: int) -> Json:
    options = request.options
    wire: Json = {}
    match request.model.thinking:
        case "adaptive" if options.get("thinking", True):
            wire["thinking"] = {"type": "adaptive", "display": "summarized"}
        case "budget" if options.get("thinking") and _may_think(messages):
            if (budget := budget_within(options, max_tokens)) is not None:
                wire["thinking"] = {"type": "enabled", "budget_tokens": budget}
        case _:
            pass
    if options.get("effort") and request.model.thinking == "adaptive":
        wire["output_config"] = {"effort": options["effort"]}
    return wire


def _may_think(messages: Sequence[Json]) -> bool:
    """Return True if budget models may think.

    They may not if the running tool loop began without a thought, for example after a switch.
    """
    first: Json | None = None
    for message in reversed(messages):
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user" and "tool_result" not in kinds:
            break
        if message["role"] == "assistant":
            if "tool_use" not in kinds:
                break
            first = message
    return first is None or first["content"][0]["type"] in _UNCACHEABLE

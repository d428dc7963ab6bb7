"""Requests from views.

The same view, system, tools and model always give the same bytes and the same cache breakpoints. A breakpoint is a
place up to which the next request is most likely the same. A request has only a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcli.context.inject import without_images, wrapped
from agentcli.context.invariants import Repairer
from agentcli.context.tokens.counter import RequestSizes, TokenCounter
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import reply_tokens
from agentcli.core.history import common
from agentcli.core.mcp_servers import SEARCH, loaded_tools
from agentcli.core.message import Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import (
    MOST_BREAKPOINTS,
    REPLY_TOKENS,
    Breakpoint,
    ModelSpec,
    Request,
    RequestMessage,
    ToolSchema,
)
from agentcli.core.record import Prune

MILESTONE = 2_000
"""Tokens of a tool result from which it may end a cached prefix."""


def breakpoints(
    messages: Sequence[RequestMessage],
    head: int,
    model: ModelSpec,
    sizes: RequestSizes,
    milestone: int = MILESTONE,
    edited: int = 0,
) -> tuple[Breakpoint, ...]:
    """Choose at most four places, in the order of the request.

    `edited` is the first message that an edit has changed since the last request; 0: none. The part before it is still
    in the cache. Only a place near its end finds it.

    The best places let the next request read most tokens. `head` are the tokens of system and tools, `milestone` the
    tokens from which a tool result is a milestone. No place is used for a prefix shorter than the model caches, nor for
    a provider that caches automatically.
    """
    if not model.cache_explicit:
        return ()
    worth: dict[Breakpoint, float] = {}
    for place, tokens, chance in _candidates(messages, head, model, sizes, milestone, edited):
        if tokens >= model.cache_minimum:
            worth[place] = max(worth.get(place, 0.0), tokens * chance)
    chosen = sorted(worth, key=lambda place: -worth[place])[:MOST_BREAKPOINTS]
    return tuple(sorted(chosen, key=lambda place: (place.message, place.part)))


def _candidates(
    messages: Sequence[RequestMessage], head: int, model: ModelSpec, sizes: RequestSizes, milestone: int, edited: int
) -> Iterator[tuple[Breakpoint, int, float]]:
    """Yield possible breakpoints, each with the tokens before it and the chance that the next request has the same ones."""
    # The chances estimate how likely the next edit is to spare each prefix. Every edit spares the system. A prune
    # spares the part before the first cleared output. An interrupted or rewound prompt spares everything before itself.
    yield Breakpoint(-1), head, 1.0
    newest = len(messages) - 1
    places = [(newest, 0.95), (newest - 1, 0.96)]
    if _blocks(messages[newest - 1 :]) >= model.cache_lookback:
        # A lookup covers only `cache_lookback` blocks; an entry certainly exists at the end of the previous request.
        places.append((newest - 2, 0.97))
    places.append((sizes.snapshot, 0.99))
    # The place before an edit replaces a milestone. The system keeps its own, in case that entry has expired.
    places.append((edited - 1, 1.0) if edited else (sizes.newest_result(milestone, newest - 1), 0.9))
    for number, chance in places:
        part = _last_markable(messages[number]) if 0 <= number < len(messages) else -1
        if part >= 0:
            yield Breakpoint(number, part), head + sizes.through(number), chance


def _blocks(messages: Sequence[RequestMessage]) -> int:
    return sum(len(message.parts) for message in messages)


def _last_markable(message: RequestMessage) -> int:
    """Return the index of the last part that may carry a breakpoint, or -1.

    Providers accept none on thoughts or empty text.
    """
    for number in range(len(message.parts) - 1, -1, -1):
        part = message.parts[number]
        if not isinstance(part, Thinking) and not (isinstance(part, Text) and not part.text):
            return number
    return -1


def assemble(
    view: View,
    system: Sequence[str],
    tools: Sequence[ToolSchema],
    model: ModelSpec,
    *,
    options: Mapping[str, Any] | None = None,
    max_output: int = REPLY_TOKENS,
    counter: TokenCounter | None = None,
    milestone: int = MILESTONE,
) -> Request:
    """Return the request that shows this view to this model.

    Requests of a growing view are prefixes of one another, except for the breakpoints.
    """
    return Assembler().assemble(
        view,
        system,
        tools,
        model,
        options=options or {},
        max_output=max_output,
        counter=counter or TokenCounter(),
        milestone=milestone,
    )


class Assembler:
    """Builder of a session's requests, one after the other; messages shared by two successive requests are the same
    objects.
    """

    def __init__(self) -> None:
        self._repairer = Repairer()
        self._model: ModelSpec | None = None
        self._shown: tuple[ViewMessage, ...] = ()
        self._messages: tuple[RequestMessage, ...] = ()

    def assemble(
        self,
        view: View,
        system: Sequence[str],
        tools: Sequence[ToolSchema],
        model: ModelSpec,
        *,
        options: Mapping[str, Any],
        max_output: int,
        counter: TokenCounter,
        milestone: int,
    ) -> Request:
        """Return the next request: see `assemble`."""
        messages = self._repairer.repair(self._messages_of(view, model), model)
        edited = _edited_since_reply(view) if len(messages) == len(view.messages) else 0
        head, sizes = counter.overhead(system, tools), counter.sizes(messages)
        places = breakpoints(messages, head, model, sizes, milestone, edited)
        reply = min(max_output, model.max_output, reply_tokens(model.window))
        searches = model.deferred_tools and any(tool.name == SEARCH for tool in tools)
        results = (part for message in messages for part in message.parts if isinstance(part, ToolResult))
        deferred = loaded_tools(results) if searches else ()
        return Request(model, tuple(system), tuple(tools), messages, places, reply, dict(options), deferred)

    def _messages_of(self, view: View, model: ModelSpec) -> tuple[RequestMessage, ...]:
        """Return the view's messages as sent, with injections and files in their wrappers.

        A model that binds its thoughts to the content before them does not get thoughts from another view again.
        """
        shown = view.messages
        if model.preserved_thinking and view.undone:
            shown = tuple(_without_bound(message, view) for message in shown)
        same = common(shown, self._shown) if model == self._model else 0
        self._messages = (*self._messages[:same], *(_message(message, model) for message in shown[same:]))
        self._shown, self._model = shown, model
        return self._messages


def _edited_since_reply(view: View) -> int:
    """Return the first message that the newest prune changed. Return 0 if a reply has come since."""
    newest = view.prunes[-1] if view.prunes else None
    reply = next((message.seq for message in reversed(view.messages) if message.role == "assistant"), 0)
    if newest is None or newest.seq < reply or not isinstance(newest.body, Prune) or newest.body.by:
        return 0
    calls = frozenset(newest.body.cleared)
    changed = (n for n, message in enumerate(view.messages) if any(map(calls.__contains__, _cleared(message))))
    return next(changed, 0)


def _cleared(message: ViewMessage) -> Iterator[str]:
    """Yield the calls whose input or output is cleared in a message."""
    for block in message.blocks:
        if block.cleared and isinstance(block.part, ToolCall | ToolResult):
            yield block.part.call_id


def _without_bound(message: ViewMessage, view: View) -> ViewMessage:
    return replace(message, blocks=tuple(block for block in message.blocks if not view.is_bound(block)))


def _message(message: ViewMessage, model: ModelSpec) -> RequestMessage:
    if message.role == "assistant":
        return RequestMessage(
            "assistant", tuple([block.sent for block in message.blocks]), message.provider, message.model
        )
    show = wrapped if model.images else without_images
    return RequestMessage("user", tuple([_sendable(block.sent, show, model) for block in message.blocks]))


def _sendable(part: Part | ToolResult, show: Any, model: ModelSpec) -> Part | ToolResult:
    if not isinstance(part, ToolResult):
        seen: Part = show(part)
        return seen
    if part.images and not model.images:
        left_out = "\n".join(f"[{image.mime} image left out: this model takes no images]" for image in part.images)
        return replace(part, output=f"{part.output}\n{left_out}".lstrip(), images=())
    return part

"""Requests from views: the same view, system, tools and model always give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcli.context.breakpoints import MILESTONE, breakpoints
from agentcli.context.inject import without_images, wrapped
from agentcli.context.repair import Repairer
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import reply_tokens
from agentcli.core.history import common
from agentcli.core.mcp_servers import SEARCH, loaded_tools
from agentcli.core.message import Part, ToolResult
from agentcli.core.model import REPLY_TOKENS, ModelSpec, Request, RequestMessage, ToolSchema


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
    """Builder of a session's requests, one after the other; messages that two successive requests share are the same objects."""

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
        places = breakpoints(messages, counter.overhead(system, tools), model, counter.sizes(messages), milestone)
        reply = min(max_output, model.max_output, reply_tokens(model.window))
        searches = model.deferred_tools and any(tool.name == SEARCH for tool in tools)
        results = (part for message in messages for part in message.parts if isinstance(part, ToolResult))
        deferred = loaded_tools(results) if searches else ()
        return Request(model, tuple(system), tuple(tools), messages, places, reply, dict(options), deferred)

    def _messages_of(self, view: View, model: ModelSpec) -> tuple[RequestMessage, ...]:
        """Return the view's messages as they are sent, injections and files in their wrappers.

        A model that binds its thoughts to the content before them does not receive thoughts from another view again.
        """
        shown = view.messages
        if model.preserved_thinking and view.undone:
            shown = tuple(_without_bound(message, view) for message in shown)
        same = common(shown, self._shown) if model == self._model else 0
        self._messages = (*self._messages[:same], *(_message(message, model) for message in shown[same:]))
        self._shown, self._model = shown, model
        return self._messages


def _without_bound(message: ViewMessage, view: View) -> ViewMessage:
    return replace(message, blocks=tuple(block for block in message.blocks if not view.is_bound(block)))


def _message(message: ViewMessage, model: ModelSpec) -> RequestMessage:
    if message.role == "assistant":
        return RequestMessage(
            "assistant", tuple(block.sent for block in message.blocks), message.provider, message.model
        )
    show = wrapped if model.images else without_images
    return RequestMessage("user", tuple(_sendable(block.sent, show, model) for block in message.blocks))


def _sendable(part: Part | ToolResult, show: Any, model: ModelSpec) -> Part | ToolResult:
    if not isinstance(part, ToolResult):
        seen: Part = show(part)
        return seen
    if part.images and not model.images:
        left_out = "\n".join(f"[{image.mime} image left out: this model takes no images]" for image in part.images)
        return replace(part, output=f"{part.output}\n{left_out}".lstrip(), images=())
    return part

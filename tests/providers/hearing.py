"""Ask a model and keep all that was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.message import Part, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import (
    Breakpoint,
    Model,
    ModelSpec,
    PartDone,
    Request,
    RequestMessage,
    Stopped,
    StreamEvent,
    ToolSchema,
    UsageSeen,
)
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.settings import BUILT_IN, RetryPolicy
from tests.loopback import Loopback, Plan

BOTH = ("haiku", "flash")
"""One model of each vendor."""
RESPONSES, CHAT = "luna", "ollama/qwen3"
"""One model of each wire format of OpenAI's."""
ALL = (*BOTH, RESPONSES, CHAT)
"""One model of each wire format."""
ONCE = RetryPolicy(attempts=1)
READ = ToolSchema(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
)


@dataclass
class Heard:
    """All steps of one reply, and the error that ended it."""

    steps: list[StreamEvent] = field(default_factory=list)
    error: ModelError | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(step.part for step in self.steps if isinstance(step, PartDone))

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def stop(self) -> Stopped | None:
        found = [step for step in self.steps if isinstance(step, Stopped)]
        assert len(found) <= 1
        assert not found or isinstance(self.steps[-1], Stopped)
        return found[0] if found else None

    @property
    def usage(self) -> Usage:
        return [step.usage for step in self.steps if isinstance(step, UsageSeen)][-1]


def request(model: ModelSpec, *turns: RequestMessage | str, **more: Any) -> Request:
    """A request with a system prompt and one tool; strings are messages of the user."""
    messages = tuple(RequestMessage("user", (Text(turn),)) if isinstance(turn, str) else turn for turn in turns)
    return Request(
        **{"model": model, "system": ("Be brief.",), "tools": (READ,), "messages": messages, "max_output": 1000} | more
    )


def connected(server: Loopback, name: str, retry: RetryPolicy = ONCE, **settings: Any) -> Model:
    """The product's own connection to the server."""
    found = spec(name)
    provider = BUILT_IN[found.provider]
    if provider.base_url:  # a preset
        provider = replace(provider, base_url=f"{server.url}/v1", api_key_env="OPENAI_API_KEY")
    return connect(found, replace(provider, **settings), server.env, retry)


async def hear(model: Model, asked: Request) -> Heard:
    """Everything that a model says to a request."""
    heard = Heard()
    try:
        async for step in model.stream(asked):
            heard.steps.append(step)
    except ModelError as error:
        heard.error = error
    return heard


def ask(
    name: str, plan: Plan, *turns: RequestMessage | str, retry: RetryPolicy = ONCE, **more: Any
) -> tuple[Heard, Loopback]:
    """One request through the real SDK to a loopback server with this plan."""
    with Loopback(plan) as server:

        async def run() -> Heard:
            model = connected(server, name, retry)
            heard = await hear(model, request(model.spec, *(turns or ("hello",)), **more))
            await model.close()  # type: ignore[attr-defined]
            return heard

        return asyncio.run(run()), server


async def converse(model: Model, prompt: str, rounds: int, **more: Any) -> tuple[list[Heard], list[RequestMessage]]:
    """A tool loop of that many requests, each call answered with `ok`; the replies and the turns at its end."""
    turns = [RequestMessage("user", (Text(prompt),))]
    replies = []
    for _ in range(rounds):
        marks = (Breakpoint(-1), Breakpoint(len(turns) - 1))
        heard = await hear(model, request(model.spec, *turns, breakpoints=marks, **more))
        replies.append(heard)
        if heard.error:
            break
        turns += [reply_turn(model.spec, heard.parts), answers(heard.calls)]
    return replies, turns


def reply_turn(model: ModelSpec, parts: Sequence[Part]) -> RequestMessage:
    return RequestMessage("assistant", tuple(parts), model.provider, model.id)


def answers(calls: Sequence[ToolCall]) -> RequestMessage:
    results = tuple(ToolResult(call.call_id, call.name, "success", "ok") for call in calls)
    return RequestMessage("user", results or (Text("Go on."),))

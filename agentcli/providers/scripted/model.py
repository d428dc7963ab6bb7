"""A model that follows a script instead of thinking.

It serves the demo and tests, and lets people try agentcli without a key.

A script is a list of replies, or a function from the request to a reply. As a JSON file it is

    {"replies": [
        {"thinking": "…",                          optional, comes first
         "text": "…" or ["…", "…"],                optional; a list is streamed piece by piece
         "calls": [{"name": "read", "input": {"file_path": "a.py"}, "id": "call_1"}],      optional; missing ids are invented
         "stop": "end_turn",                       optional; else "tool_use" with calls and "end_turn" without
         "usage": {"input": 10, "output": 5, "reasoning": 0, "cache_read": 0, "cache_write": 0},     optional; else estimated from the request
         "delay": 0.5,                             seconds before the first piece
         "rate": 400,                              characters per second; 0 or absent is at once
         "fault": {"cause": "overloaded", "message": "…", "after": 2, "retry_after": 1.5, "status": 529}}     fails after that many deltas
     ],
     "then": "repeat"}                             after the last reply: "repeat" it, start again ("loop"), or "fail"

and is named on the command line as `script:path/to/file.json`. Built in are `script:echo` (the user's last prompt) and
`script:steps:N` (N tool steps on each prompt). `script:long-reply` sends 80 tagged blocks at 4,000 characters per
second; `script:long-reply:BLOCKS@RATE` sets both. Every script answers a request for a state snapshot with one.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from agentcli.context.cache_model import PrefixCache, rules_of
from agentcli.core.codec.encode import part_to_json, usage_from_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import Cause, InputError, ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import Part, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, PartDone, Request, Stopped, StreamEvent, UsageSeen
from agentcli.providers.scripted.summary import snapshot, wants_summary

Then = Literal["repeat", "loop", "fail"]
PIECE = 12
"""Characters of one delta, unless a reply sets its own pieces."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure with this cause after `after` deltas.

    0 replaces the whole reply. A number beyond the last delta only removes its end.
    """

    cause: Cause = "overloaded"
    message: str = "the script says so"
    after: int = 0
    retry_after: float | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model.

    `pieces` replaces the even splitting of texts; `rate` is in characters per second, 0 at once.
    """

    parts: tuple[Part, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    delay: float = 0.0
    rate: float = 0.0
    pieces: tuple[str, ...] = ()
    fault: Fault | None = None

    @property
    def ending(self) -> Stop:
        """The stop reason, by default the one that the parts require."""
        return self.stop or ("tool_use" if any(isinstance(part, ToolCall) for part in self.parts) else "end_turn")


Script = Sequence[Reply] | Callable[[Request], Reply]


def say(text: str, *calls: ToolCall, thinking: str = "", **more: Any) -> Reply:
    """Make a reply in one line: `say("Let me look.", call("read", file_path="a"))`."""
    parts: list[Part] = [Thinking(thinking, "scripted")] if thinking else []
    parts += [Text(text)] if text else []
    return Reply((*parts, *calls), **more)


def call(tool: str, /, call_id: str = "", **arguments: Any) -> ToolCall:
    """Make a tool call in one line; without an id it gets one when it is played."""
    return ToolCall(call_id, tool, arguments)


class ScriptedModel:
    """A Model that plays a script.

    Usage is estimated from the request, with a prompt cache that behaves like a real one.
    """

    def __init__(
        self,
        spec: ModelSpec,
        script: Script,
        then: Then = "repeat",
        *,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._script = script
        self._then = then
        self._sleep = sleep
        self._clock = clock
        self._played = 0
        self._calls = 0
        self._cache = PrefixCache()

    @property
    def spec(self) -> ModelSpec:
        """Id, limits and prices of the model."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply like `Model.stream`. A request for a summary gets one without using up the script."""
        reply = self._numbered(say(snapshot(request)) if wants_summary(request) else self._next(request), request)
        await self._wait(reply.delay)
        if reply.fault and not reply.fault.after:
            raise _failure(reply.fault)
        usage = reply.usage or self._reckon(request, reply)
        yield UsageSeen(replace(usage, output=min(usage.output, 1), reasoning=0))
        sent = 0
        for part in reply.parts:
            for step in _deltas(part, reply.pieces):
                if reply.fault and sent >= reply.fault.after:
                    raise _failure(reply.fault)
                yield step
                sent += 1
                await self._wait(_length(step) / reply.rate if reply.rate else 0.0)
            yield PartDone(part)
        if reply.fault:
            raise _failure(reply.fault)
        yield UsageSeen(usage)
        calls = [part.name for part in reply.parts if isinstance(part, ToolCall)]
        yield Stopped(reply.ending, tool=calls[-1] if calls and reply.ending == "malformed_call" else "")

    async def count(self, request: Request) -> int | None:
        """Return the size that `stream` would report."""
        return sum(tokens for _, tokens in blocks(request))

    def _next(self, request: Request) -> Reply:
        if callable(self._script):
            return self._script(request)
        number, self._played = self._played, self._played + 1
        if number < len(self._script):
            return self._script[number]
        if self._then == "fail" or not self._script:
            raise ModelError("The script has no more replies.", "bad_request")
        return self._script[number % len(self._script)] if self._then == "loop" else self._script[-1]

    def _numbered(self, reply: Reply, request: Request) -> Reply:
        """Add ids to calls without one, unique in the conversation."""
        taken = {part.call_id for turn in request.messages for part in turn.parts if isinstance(part, ToolCall)}
        parts: list[Part] = []
        for part in reply.parts:
            if isinstance(part, ToolCall) and not part.call_id:
                self._calls += 1
                while f"call_{self._calls:04}" in taken:
                    self._calls += 1
                part = replace(part, call_id=f"call_{self._calls:04}")
            parts.append(part)
        return replace(reply, parts=tuple(parts))

    def _reckon(self, request: Request, reply: Reply) -> Usage:
        found = blocks(request)
        spec = self._spec
        read, written = self._cache.use(found, breakpoints(request), rules_of(spec), self._clock(), spec.id)
        thoughts = sum(tokens_of(part.text) for part in reply.parts if isinstance(part, Thinking))
        output = sum(
            tokens_of(json.dumps(part_to_json(part))) for part in reply.parts if not isinstance(part, Thinking)
        )
        whole = sum(tokens for _, tokens in found)
        return Usage(whole - read - written, output + thoughts, thoughts, read, written)

    async def _wait(self, seconds: float) -> None:
        import asyncio

        # Even without a pace, other tasks get their turn between two pieces, as with a real reply.
        await (asyncio.sleep(0) if seconds <= 0 else (self._sleep or asyncio.sleep)(seconds))


def blocks(request: Request) -> list[tuple[bytes, int]]:
    """Return the prompt's blocks in the order of the cache, each with its size in tokens."""
    texts = [f"{tool.name} {tool.description} {json.dumps(dict(tool.parameters))}" for tool in request.tools]
    texts += request.system
    for turn in request.messages:
        texts += (f"{turn.role} {_text_of(part)}" for part in turn.parts)
    return [(text.encode("utf-8", "surrogatepass"), tokens_of(text)) for text in texts]


def breakpoints(request: Request) -> list[int]:
    """Return the request's breakpoints as indices into `blocks`."""
    head = len(request.tools) + len(request.system)
    starts = [head]
    for turn in request.messages:
        starts.append(starts[-1] + len(turn.parts))
    found = []
    for point in request.breakpoints:
        if point.message < 0:
            found.append(head - 1)
        else:
            found.append(starts[point.message + 1] - 1 if point.part < 0 else starts[point.message] + point.part)
    return [index for index in found if index >= 0]


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text: four characters each."""
    return -(-len(text) // 4)


def load(path: Path) -> tuple[Sequence[Reply], Then]:
    """Read the script in a JSON file, and its `then`. Raises InputError if it is unusable."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        then = raw.get("then", "repeat")
        if then not in get_args(Then):
            raise ValueError(f"`then` must be one of {', '.join(get_args(Then))}")
        return [reply_from_json(item) for item in raw["replies"]], then
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"Can't use the script {path}: {error}") from error


def reply_from_json(raw: Mapping[str, Any]) -> Reply:
    """Read one reply of a script file. Raises KeyError, TypeError or ValueError for an invalid field."""
    unknown = sorted(set(raw) - {"thinking", "text", "calls", "stop", "usage", "delay", "rate", "fault"})
    if unknown:
        raise ValueError(f"a reply has no field {unknown[0]!r}")
    text = raw.get("text") or ""
    pieces = tuple(text) if isinstance(text, list) else ()
    calls = [call(item["name"], item.get("id", ""), **item.get("input", {})) for item in raw.get("calls", [])]
    return say(
        "".join(pieces) or text,
        *calls,
        thinking=raw.get("thinking", ""),
        stop=raw.get("stop"),
        usage=usage_from_json(raw["usage"]) if "usage" in raw else None,
        delay=float(raw.get("delay", 0.0)),
        rate=float(raw.get("rate", 0.0)),
        pieces=pieces,
        fault=Fault(**raw["fault"]) if "fault" in raw else None,
    )


def _deltas(part: Part, pieces: tuple[str, ...]) -> Iterator[StreamEvent]:
    match part:
        case Text(text):
            yield from (TextDelta(piece) for piece in pieces or _cut(text))
        case Thinking(text):
            yield from (ThinkingDelta(piece) for piece in _cut(text))
        case ToolCall(call_id, name, arguments):
            yield CallDelta(call_id, name, "")
            yield from (CallDelta(call_id, name, piece) for piece in _cut(json.dumps(dict(arguments)), 64))
        case _:
            pass


def _cut(text: str, size: int = PIECE) -> Iterator[str]:
    yield from (text[start : start + size] for start in range(0, len(text), size))


def _length(step: StreamEvent) -> int:
    return len(step.text) if isinstance(step, TextDelta | ThinkingDelta | CallDelta) else 0


def _failure(fault: Fault) -> ModelError:
    return ModelError(fault.message, fault.cause, retry_after=fault.retry_after, status=fault.status)


def _text_of(part: Part | ToolResult) -> str:
    if isinstance(part, ToolResult):
        return f"{part.call_id} {part.status} {part.output}"
    return json.dumps(part_to_json(part), ensure_ascii=False)

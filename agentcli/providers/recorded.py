"""Replies kept in a file and played again: one JSON object a line, each a whole stream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, get_args

from agentcli.core.codec import dumps, part_from_json, part_to_json, usage_from_json, usage_to_json
from agentcli.core.errors import Cause, InputError, ModelError
from agentcli.core.event import CallDelta, ReplyRestarted, Retrying, TextDelta, ThinkingDelta
from agentcli.core.model import Model, ModelSpec, PartDone, Request, Step, Stopped, UsageSeen

Json = dict[str, Any]


class Recording:
    """A Model that writes down what its own model says. The file holds replies and no requests, so no prompt and no key."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path

    @property
    def spec(self) -> ModelSpec:
        """What is known about the model inside."""
        return self._model.spec

    async def stream(self, request: Request) -> AsyncIterator[Step]:
        """See `Model.stream`. A reply that fails is written down with its failure, one that nobody hears to its end is not."""
        steps: list[Json] = []
        try:
            async with aclosing(self._model.stream(request)) as said:  # type: ignore[type-var]
                async for step in said:
                    steps.append(step_to_json(step))
                    yield step
        except ModelError as error:
            self._write(steps, error)
            raise
        self._write(steps, None)

    async def count(self, request: Request) -> int | None:
        """See `Model.count`; counts are not written down."""
        return await self._model.count(request)

    def _write(self, steps: list[Json], error: ModelError | None) -> None:
        failure = error and {
            "cause": error.cause,
            "message": str(error),
            "retry_after": error.retry_after,
            "status": error.status,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(dumps({"model": self.spec.name, "steps": steps, "failure": failure}) + "\n")


class Replaying:
    """A Model that says again what a Recording wrote down, one line a request, whatever the request."""

    def __init__(self, spec: ModelSpec, path: Path) -> None:
        self._spec = spec
        self._replies = _load(path)
        self._played = 0

    @property
    def spec(self) -> ModelSpec:
        """What is known about it."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[Step]:
        """See `Model.stream`. Raises ModelError(cause="bad_request") when the recording is used up."""
        if self._played >= len(self._replies):
            raise ModelError("The recording is used up.", "bad_request")
        steps, failure = self._replies[self._played]
        self._played += 1
        for step in steps:
            yield step
        if failure is not None:
            raise failure

    async def count(self, request: Request) -> int | None:
        """A recording cannot count."""
        return None


def step_to_json(step: Step) -> Json:
    """A step as it stands in a recording."""
    match step:
        case TextDelta(text):
            return {"type": "text", "text": text}
        case ThinkingDelta(text):
            return {"type": "thinking", "text": text}
        case CallDelta(call_id, name, text):
            return {"type": "call", "id": call_id, "name": name, "text": text}
        case PartDone(part):
            return {"type": "part", "part": part_to_json(part)}
        case UsageSeen(usage):
            return {"type": "usage", "usage": usage_to_json(usage)}
        case Stopped(stop, detail):
            return {"type": "stop", "stop": stop, "detail": detail}
        case Retrying(attempt, delay, reason):
            return {"type": "retrying", "attempt": attempt, "delay": delay, "reason": reason}
        case ReplyRestarted():
            return {"type": "restarted"}


def step_from_json(raw: Mapping[str, Any]) -> Step:
    """A step from its JSON. Raises KeyError or ValueError where it is none."""
    match raw["type"]:
        case "text":
            return TextDelta(raw["text"])
        case "thinking":
            return ThinkingDelta(raw["text"])
        case "call":
            return CallDelta(raw["id"], raw["name"], raw["text"])
        case "part":
            return PartDone(part_from_json(raw["part"]))
        case "usage":
            return UsageSeen(usage_from_json(raw["usage"]))
        case "stop":
            return Stopped(raw["stop"], raw.get("detail", ""))
        case "retrying":
            return Retrying(raw["attempt"], raw["delay"], raw["reason"])
        case "restarted":
            return ReplyRestarted()
        case other:
            raise ValueError(f"unknown step {other!r}")


def _load(path: Path) -> list[tuple[list[Step], ModelError | None]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return [_reply(json.loads(line)) for line in lines if line]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"The recording {path} cannot be used: {error}") from error


def _reply(raw: Mapping[str, Any]) -> tuple[list[Step], ModelError | None]:
    steps = [step_from_json(step) for step in raw["steps"]]
    failure = raw.get("failure")
    if failure is None:
        return steps, None
    if failure["cause"] not in get_args(Cause):
        raise ValueError(f"unknown cause {failure['cause']!r}")
    error = ModelError(
        failure["message"], failure["cause"], retry_after=failure["retry_after"], status=failure["status"]
    )
    return steps, error

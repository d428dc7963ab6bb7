"""Capabilities learnt from errors: a field that a server says it does not take is left out; an error about anything else teaches nothing.

Stopped: the field is left out of the request. Hindered: a capability would be missing for a week.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.message import Image, Text, ToolResult
from agentcli.core.model import Breakpoint, ContextEdits, ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.providers.anthropic.request import to_wire
from agentcli.providers.capable import Trial
from agentcli.providers.catalog import spec
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import BUILT_IN
from tests.guards import Figures, material

MODELS = {"anthropic": "sonnet", "google": "flash", "openai": "luna", "chat": "ollama/qwen3"}
KEYWORDS = (
    "const",
    "additionalProperties",
    "exclusiveMinimum",
    "propertyNames",
    "$schema",
    "format",
    "default",
    "enum",
    "title",
)


def figures() -> Iterator[Figures]:
    """Measure both halves."""
    for half in ("tuned", "unseen"):
        found = material(f"capabilities_{half}")
        left = sum(case["field"] in _tried(case)[0] for case in found["bad"])
        believed = [case for case in found["good"] if _tried(case)[1]]
        yield Figures(
            f"fields, {half} half", left, len(found["bad"]), len(believed), len(found["good"]), found["source"]
        )


def _tried(case: dict[str, Any]) -> tuple[set[str], set[str]]:
    """What is left out after an error, and what of it is remembered."""
    model = spec(MODELS[case["wire"]])
    trial = Trial(_request(model), frozenset(), set())
    sent = trial.sent()
    body = to_wire(sent, BUILT_IN["anthropic"]) if case["wire"] == "anthropic" else {}
    trial.refused(
        ModelError("refused", "bad_request", answer=case["text"]), sent, body, PROVIDERS[model.kind].fields, set()
    )
    return trial.stated | {each for each in trial.left if isinstance(each, str)}, trial.stated


def _request(model: ModelSpec) -> Request:
    """A request with everything that may be left out."""
    model = replace(model, thinking="level") if model.thinking == "none" else model
    image = Image("image/png", "iVBORw==", "a.png")
    schema = {"type": "object", "properties": {"a": {"type": "string"} | dict.fromkeys(KEYWORDS, "x")}}
    result = ToolResult("call_1", "read", "success", "see", images=(image,))
    return Request(
        model, ("Be brief.",), (ToolSchema("read", "Read.", schema),), (RequestMessage("user", (Text("look"), image, result)),),
        (Breakpoint(-1),), options={"effort": "high", "session": "s1", "thinking": True}, context_edits=ContextEdits(100, 3),
        deferred=(ToolSchema("other", "Other.", schema),),
    )  # fmt: skip

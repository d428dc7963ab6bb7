"""One small real request to each configured provider, with every capability that its model uses: the answers of `doctor --live`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.message import Image, Text, ToolCall, ToolResult, Usage, reminder
from agentcli.core.model import Breakpoint, ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.core.streams import closing
from agentcli.program.program import Program
from agentcli.providers.capabilities import SCHEMA, reduced
from agentcli.providers.connect import connect
from agentcli.providers.context_windows import listed_models
from agentcli.providers.endpoint_facts import EndpointMemory
from agentcli.providers.registry import PROVIDERS, SERVERS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, RetryPolicy, base_url, credentials, needs_key

MOST_COST = 0.01
"""Maximum USD of one request; if a model would cost more, the vendor's cheap one is used."""
PROMPT, REPLY = 1_500, 400
"""Upper bounds in tokens of the request, including the vendor's additions, and of the reply."""
LIST_SECONDS = 5.0
CAPABILITIES = ("thinking", "effort", "cache", "system_messages", "result_images", f"{SCHEMA}enum", "counting", "usage")
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TOOL = ToolSchema(
    "look",
    "Look at the image.",
    {"type": "object", "properties": {"at": {"type": "string", "enum": ["all", "part"]}}, "required": ["at"]},
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A provider and the model to query; `cost` is the maximum in USD, None if its price is unknown."""

    settings: ProviderSettings
    model: ModelSpec
    cost: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a probe: `error`, or for each capability `yes`, `no`, or `-` if the model does not use it."""

    model: str
    capabilities: Sequence[str] = ()
    seconds: float = 0.0
    error: str = ""


def probes(program: Program) -> list[Probe]:
    """Return the request for each provider that has a key and a model."""
    configured = {**{name: BUILT_IN[name] for name in SERVERS}, **program.models.providers}
    found = (_probe(program, settings) for settings in configured.values() if _ready(program, settings))
    return [probe for probe in found if probe is not None]


def offer(asked: Sequence[Probe]) -> str:
    """Describe the requests and their maximum cost."""
    total = sum(probe.cost or 0.0 for probe in asked)
    unknown = any(probe.cost is None for probe in asked)
    names = ", ".join(probe.model.name for probe in asked)
    price = f"${total:.4f} in all" + (", without models of unknown price" if unknown else "")
    return f"This sends one small real request each to {names}: at most {price}."


def ask(program: Program, asked: Sequence[Probe]) -> list[Answer]:
    """Send the requests one after the other, and remember which capabilities the endpoints lack or no longer lack."""
    return [asyncio.run(_ask(program, probe)) for probe in asked]


async def _ask(program: Program, probe: Probe) -> Answer:
    """Send one request with every capability; refused capabilities are dropped as in a session."""
    spec, fresh = probe.model, EndpointMemory()
    request = _request(spec)
    used = {name for name in CAPABILITIES if reduced(request, [name]) != request} | {"counting", "usage"}
    # The adapters do not send thinking that would fill the reply, nor system messages to endpoints other than the vendor's.
    used -= {"thinking"} if spec.thinking == "budget" else set()
    used -= {"system_messages"} if probe.settings.name != probe.settings.kind else set()
    used -= set() if probe.settings.counting else {"counting"}
    began = time.monotonic()
    try:
        model = connect(
            spec,
            probe.settings,
            program.env,
            RetryPolicy(attempts=1),
            memory=fresh,
            minimal=True,
            renewed=program.models.renewal(probe.settings),
        )
        try:
            await model.count(request)
            async with closing(model.stream(request)) as stream:
                async for _ in stream:
                    pass
        finally:
            await model.close()  # type: ignore[attr-defined]
    except AgentError as error:
        return Answer(spec.name, error=str(error))
    url = base_url(probe.settings, program.env)
    lacking = fresh.known(spec.name, url).lacking
    program.models.memory.forget(spec.name, url, used - lacking)
    program.models.memory.learn(spec.name, url, lacking=lacking)
    states = ["-" if name not in used else "no" if name in lacking else "yes" for name in CAPABILITIES]
    return Answer(spec.name, states, time.monotonic() - began)


def _ready(program: Program, settings: ProviderSettings) -> bool:
    own = base_url(settings, program.env)
    return bool(credentials(settings, program.env)) or (bool(own) and not needs_key(settings, program.env))


def _probe(program: Program, settings: ProviderSettings) -> Probe | None:
    """Return the probe with a provider's first model that is known by name and cheap enough.

    Return None if there is no such model.
    """
    for name in _names(program, settings):
        try:
            model = program.models.spec(name)
        except AgentError:
            continue
        cost = model.cost(Usage(input=PROMPT, output=REPLY))
        if model.provider == settings.name and (cost is None or cost <= MOST_COST):
            return Probe(settings, model, cost)
    return None


def _names(program: Program, settings: ProviderSettings) -> Iterator[str]:
    """Models of a provider, the one in use first."""
    url = base_url(settings, program.env)
    yield from filter(None, (program.models.default,))
    if settings.name in PROVIDERS and not url:
        yield from filter(None, (PROVIDERS[settings.kind].default_model, PROVIDERS[settings.kind].summary_model))
    elif url:
        yield from (
            f"{settings.name}/{model}" for model in listed_models(url, credentials(settings, program.env), LIST_SECONDS)
        )
    yield from (PROVIDERS[settings.kind].default_model, PROVIDERS[settings.kind].summary_model)


def _request(spec: ModelSpec) -> Request:
    """Build a small tool loop with an image in a result, a reminder, marks, thinking and an effort."""
    note = reminder("This is a test of the connection.")
    picture = ToolResult(
        "call_1", "look", "success", "An image.", images=(Image("image/png", _PIXEL),) if spec.images else ()
    )
    messages = (
        RequestMessage("user", (note, Text("Look at the image, then answer with one word: OK."))),
        RequestMessage("assistant", (ToolCall("call_1", "look", {"at": "all"}),)),
        RequestMessage("user", (picture,)),
    )
    marks = (Breakpoint(-1), Breakpoint(2)) if spec.cache_explicit else ()
    options = {"thinking": True, "effort": "low" if spec.thinking in ("adaptive", "level") else ""}
    small = replace(spec, max_output=min(spec.max_output, REPLY))
    return Request(small, ("Answer in one word.",), (_TOOL,), messages, marks, REPLY, options)

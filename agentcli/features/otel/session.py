"""OpenTelemetry in a session: each of its turns is a trace, a subagent's a part of its parent's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.core.event import Event, Warned
from agentcli.core.model import ModelSpec
from agentcli.features.otel.exporting import Sender, opened
from agentcli.features.otel.instruments import Instruments
from agentcli.features.otel.switch import fault, is_on
from agentcli.features.otel.turn import Subject, TurnTrace
from agentcli.program.project import Project

_PLATFORMS = {"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "vertexai": "gcp.vertex_ai"}
"""Providers as the conventions name them, by platform."""
_VENDORS = {"google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""Vendors whose name in the conventions differs from ours."""
_running: dict[str, Any] = {}
"""Context of the running turn in each session of this process."""
_faults_told: set[str] = set()


@cache
def sender_of_process() -> Sender:
    """Return the sender that all sessions of this process share."""
    return opened(os.environ)


def telemetry_of(program: Project, core: SessionCore) -> SessionPart | None:
    """Return a session's telemetry, or a part that reports once why there is none."""
    if not is_on(program.env):
        return None
    if why := fault(program.env):
        return NoTelemetry(why)
    try:
        sender = sender_of_process()
    except (ValueError, OSError) as error:  # a variable that the SDK cannot read, a missing certificate
        return NoTelemetry(f"OpenTelemetry is off: {error}")
    return Telemetry(program, core, sender)


class NoTelemetry(SessionPart):
    """The reason why a session has no telemetry."""

    name = "opentelemetry"

    def __init__(self, why: str) -> None:
        self._why = why

    def notices(self) -> Iterator[Event]:
        """Yield the reason, once in the process."""
        if self._why not in _faults_told:
            _faults_told.add(self._why)
            yield Warned(self._why)


class Telemetry(SessionPart):
    """The telemetry of a session."""

    name = "opentelemetry"

    def __init__(self, program: Project, core: SessionCore, sender: Sender) -> None:
        self._core, self._sender, self._env = core, sender, program.given_env
        self._platforms = {name: str(table.get("platform", "")) for name, table in program.config.providers.items()}

    def watch(self) -> AbstractContextManager[Callable[[Event], None]]:
        return watched(self._sender.instruments, self._core, self._platforms, self._env)

    def notices(self) -> Iterator[Event]:
        """Yield what went wrong with sending."""
        if told := self._sender.news():
            yield Warned(told)

    def closed(self) -> None:
        """Send the rest. If nobody attends the run, print the warning here: nothing else would show it."""
        if self._core.setup.parent.depth:
            return
        self._sender.flush()
        if not self._core.setup.person.attended and (told := self._sender.news()):
            print(f"warning: {told}", file=sys.stderr)


@contextmanager
def watched(
    instruments: Instruments, core: SessionCore, platforms: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[Callable[[Event], None]]:
    """Trace a turn: return the function that sees its events."""
    above, id = core.setup.parent, core.journal.id
    around = _running.get(above.session) if above.depth else outer(env)
    agent = above.agent if above.depth else "agentcli"
    trace = TurnTrace(instruments, Subject(id, agent, lambda: core.model, partial(provider_name, platforms), around))
    _running[id] = trace.context
    broken: BaseException | None = None
    try:
        yield trace.heard
    except BaseException as error:
        broken = error
        raise
    finally:
        _running.pop(id, None)
        trace.end(broken)


def outer(env: Mapping[str, str]) -> Any:
    """Return the context in `TRACEPARENT`, if any: for example a CI system's step."""
    if not env.get("TRACEPARENT"):
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {"traceparent": env["TRACEPARENT"], "tracestate": env.get("TRACESTATE", "")}
    return TraceContextTextMapPropagator().extract(carrier)


def provider_name(platforms: Mapping[str, str], model: ModelSpec) -> str:
    """Return a model's provider as the conventions name it."""
    platform = platforms.get(model.provider, "")
    return _PLATFORMS.get(platform) or _VENDORS.get(model.provider) or model.provider

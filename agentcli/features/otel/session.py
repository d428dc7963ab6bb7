"""OpenTelemetry in a session: each of its turns is a trace, a subagent's a part of its parent's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionFeature
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
"""The context of the turn that runs in each session of this process."""
_faults_told: set[str] = set()


@cache
def sender_of_process() -> Sender:
    """Return the sender that all sessions of this process share."""
    import os

    return opened(os.environ)


def session_feature(program: Project, core: SessionCore) -> SessionFeature:
    """Return the telemetry of a session; a reason why there is none is said once."""
    if not is_on(program.env):
        return SessionFeature("opentelemetry")
    if why := fault(program.env):
        return SessionFeature("opentelemetry", notices=partial(_told_once, why))
    try:
        sender = sender_of_process()
    except (ValueError, OSError) as error:  # a variable that the SDK cannot read, a certificate that is gone
        return SessionFeature("opentelemetry", notices=partial(_told_once, f"OpenTelemetry is off: {error}"))
    platforms = {name: str(table.get("platform", "")) for name, table in program.config.providers.items()}
    return SessionFeature(
        "opentelemetry",
        watch=partial(watched, sender.instruments, core, platforms, program.given_env),
        notices=partial(_news, sender),
        closed=partial(_closed, sender, core),
    )


@contextmanager
def watched(
    instruments: Instruments, core: SessionCore, platforms: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[Callable[[Event], None]]:
    """Trace a turn: return the function that is to see its events."""
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
    """Return the context that `TRACEPARENT` names, if any: a CI system's step, for instance."""
    if not env.get("TRACEPARENT"):
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {"traceparent": env["TRACEPARENT"], "tracestate": env.get("TRACESTATE", "")}
    return TraceContextTextMapPropagator().extract(carrier)


def provider_name(platforms: Mapping[str, str], model: ModelSpec) -> str:
    """Return the provider of a model as the conventions name it."""
    platform = platforms.get(model.provider, "")
    return _PLATFORMS.get(platform) or _VENDORS.get(model.provider) or model.provider


def _told_once(why: str) -> Iterator[Event]:
    if why not in _faults_told:
        _faults_told.add(why)
        yield Warned(why)


def _news(sender: Sender) -> Iterator[Event]:
    if told := sender.news():
        yield Warned(told)


def _closed(sender: Sender, core: SessionCore) -> None:
    """Send the rest. If no person attends the run, print the warning here: nothing else would show it."""
    if core.setup.parent.depth:
        return
    sender.flush()
    if not core.setup.person.attended and (told := sender.news()):
        print(f"warning: {told}", file=sys.stderr)

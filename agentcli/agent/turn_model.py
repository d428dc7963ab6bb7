"""The model and effort that a skill or a slash command wants for one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agentcli.agent.ports import TurnGrants
from agentcli.agent.request_builder import RequestBuilder
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Noticed, Warned
from agentcli.core.model import Model, ModelSpec

_SAME = ("", "inherit")
_CLAUDE = ("opus", "sonnet", "haiku")
"""Names in files of Claude Code; a session with another provider keeps its own model."""


def keeps_model(wanted: str, spec: ModelSpec) -> bool:
    """Return True if a file that wants this model accepts the one in use."""
    return wanted in _SAME or (wanted in _CLAUDE and spec.kind != "anthropic")


@contextmanager
def changed_for_turn(
    builder: RequestBuilder, grants: TurnGrants, connect: Callable[[str], Model]
) -> Iterator[Sequence[Event]]:
    """Run a turn with another model or effort; yields notices about it. Restores the session's own afterwards."""
    model, effort = builder.model, builder.effort
    events: list[Event] = []
    if grants.effort not in _SAME:
        builder.effort = grants.effort
    if not keeps_model(grants.model, model.spec):
        try:
            wanted = connect(grants.model)
        except AgentError as error:
            events.append(Warned(f"It runs with {model.spec.name}, since {grants.model} is not to be had: {error}"))
        else:
            if wanted.spec.name != model.spec.name:
                builder.model = wanted
                events.append(
                    Noticed(f"This turn runs with {wanted.spec.name}; the cache of {model.spec.name} is not used.")
                )
    changed = builder.model
    try:
        yield events
    finally:
        builder.effort = effort
        if builder.model is changed:
            builder.model = model

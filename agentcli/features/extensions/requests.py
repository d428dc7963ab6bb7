"""Requests of extensions to models."""

from __future__ import annotations

from dataclasses import replace

from agentcli.agent.core import SessionCore
from agentcli.core.errors import LimitReached
from agentcli.core.event import Event, UsageReported
from agentcli.core.message import Usage
from agentcli.core.record import FeatureState

COSTS = "extension requests"
"""Feature name of the records with the costs of requests."""
REPLY = 4_000
"""Tokens of an answer."""
CHARACTERS = 3
"""Characters of a token, at least."""


async def answer(core: SessionCore, events: list[Event], prompt: str, model: str, system: str) -> str:
    """Return one answer, record its cost, and add its events.

    Raise AgentError if it fails or a budget forbids it.
    """
    from agentcli.agent.compaction.summariser import Summariser

    models = core.setup.models
    chosen = models.connect(model) if model else models.summariser(core.model)
    forbidden = await core.objection(chosen.spec, len(prompt) // CHARACTERS)
    if forbidden:
        raise LimitReached(forbidden)
    summariser = Summariser(chosen, calls=1, longest=REPLY)
    request = replace(summariser.request([system or "Answer in plain text."], prompt), options={"thinking": False})
    try:
        return (await summariser.ask(request)).strip()
    finally:
        if summariser.usage != Usage():
            core.record(FeatureState(COSTS, {}, chosen.spec.name, summariser.usage, summariser.cost))
        news = [*summariser.news()]
        events += [replace(one, kind="aside") if isinstance(one, UsageReported) else one for one in news]

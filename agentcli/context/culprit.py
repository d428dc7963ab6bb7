"""Which segment changed between two requests of the past: both are made again from the records, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentcli.context.assemble import assemble
from agentcli.context.cache import Health, changed_between
from agentcli.context.view import view
from agentcli.core.history import fold
from agentcli.core.message import Message
from agentcli.core.model import ModelSpec, Request, ToolSchema
from agentcli.core.record import Record


def explained(health: Health, records: Sequence[Record], model: ModelSpec) -> Health:
    """The health with the segment that changed at the newest miss, where that is not known and can be found out.

    Requests of another program cannot be made again: its session says neither system nor tools.
    """
    if not health.in_a_row or health.changed is not None:
        return health
    before, missed = (_request(records, seq, model) for seq in health.missed)
    return replace(health, changed=changed_between(before, missed)) if before and missed else health


def _request(records: Sequence[Record], seq: int, model: ModelSpec) -> Request | None:
    """The request that the reply with this seq answered."""
    past = fold(record for record in records if record.seq < seq)
    reply = next((record.body for record in records if record.seq == seq), None)
    if not past.system or not isinstance(reply, Message):
        return None
    tools = [*map(ToolSchema.recorded, past.tools)]
    return assemble(view(past), past.system, tools, replace(model, provider=reply.provider, id=reply.model))

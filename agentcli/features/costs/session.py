"""The line after a turn that cost much more than usual, for a reason that is not its work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from agentcli.agent.core import SessionCore
from agentcli.core.costs import money
from agentcli.core.event import Event, Noticed
from agentcli.core.journal import Journal
from agentcli.core.message import Message
from agentcli.core.record import Record
from agentcli.features.costs.turns import AVOIDABLE, turn_costs

LEAST = 0.25
"""USD from which a turn is worth a line."""
TIMES = 3
"""Multiple of the usual cost from which a cost counts as high."""
SHARE = 0.5
"""The share that avoidable causes must have in the cost."""


def line(core: SessionCore, costs: Sequence[float]) -> Iterator[Event]:
    """Yield the line if the newest of the turns with these costs in USD deserves one. A subagent's turns are its parent's."""
    *earlier, cost = costs
    usual = sorted(earlier)[len(earlier) // 2]
    if core.setup.parent.depth or cost < LEAST or cost < TIMES * usual:
        return
    found = turn_costs(_newest_turn(core.journal), core.setup.models.spec)[-1:]
    causes = [cause for turn in found for cause in turn.causes if cause.kind in AVOIDABLE]
    if causes and sum(cause.cost or 0.0 for cause in causes) >= SHARE * cost:
        yield Noticed(
            f"This turn cost {money(cost)}, usual is {money(usual)}: {causes[0].text}. /cost has the details."
        )


def _newest_turn(journal: Journal) -> Sequence[Record]:
    """Return the records of the newest turn, and of the request before it, which left the cache as it was."""
    number, found = journal.history.turn, list[Record]()
    records = journal.records(newest_first=True)
    for record in records:
        found.append(record)
        if isinstance(record.body, Message) and record.body.turn < number and record.body.usage:
            found += islice(records, 1)  # its time is when that request was sent
            break
    return found[::-1]

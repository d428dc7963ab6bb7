"""Usage statistics of sessions per model and day, from `session.json` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.costs import CostSum, cost_chart, money
from agentcli.core.dataclass import dataclass
from agentcli.core.text.words import none_of, plural
from agentcli.sessions.info import SessionInfo, local_day


@dataclass(frozen=True, slots=True)
class Stats:
    """Totals over sessions: of all, by model, and by day in the local time zone, oldest first."""

    total: CostSum
    models: Mapping[str, CostSum]
    days: Mapping[str, CostSum]

    def to_json(self) -> dict[str, Any]:
        """Return `total`, `models` and `days`: sessions, usage and cost in USD (None if no price is known)."""
        return {
            "total": _to_json(self.total),
            "models": {name: _to_json(one) for name, one in self.models.items()},
            "days": {day: _to_json(one) for day, one in self.days.items()},
        }


def collect(sessions: Iterable[SessionInfo]) -> Stats:
    """Sum up these sessions.

    Usage inherited by a fork counts once, in its origin. If the origin is gone, it counts in the longest fork. A
    subagent's usage counts in the session that started it.
    """
    total = CostSum()
    models: dict[str, CostSum] = {}
    days: dict[str, CostSum] = {}
    for info in _apart(sessions):
        total = total.plus(info.usage, info.cost)
        for sums, name in ((models, info.model or "?"), (days, local_day(info.time.updated))):
            sums[name] = sums.get(name, CostSum()).plus(info.usage, info.cost)
    return Stats(total, models, {day: days[day] for day in sorted(days)})


def lines(stats: Stats) -> Sequence[str]:
    """Describe the totals to people, with a bar for each model, most used first, and for each day."""
    total = stats.total
    if not total.count:
        return [none_of("sessions", "sessions")]
    head = f"{plural(total.count, 'session')}, {total.usage.total:,} tokens, {money(total.cost)}"
    return [head, "", "Per model", *cost_chart(by_use(stats.models)), "", "Per day", *cost_chart(stats.days)]


def by_use(sums: Mapping[str, CostSum]) -> Mapping[str, CostSum]:
    """Return the sums, most tokens first."""
    return dict(sorted(sums.items(), key=lambda one: -one[1].usage.total))


def counted(sessions: Iterable[SessionInfo]) -> Iterator[tuple[SessionInfo, int]]:
    """Yield the sessions whose usage counts, each with the number of its last record that counts in another one.

    A subagent counts in the session that started it, the beginning of a fork in its origin.
    """
    known = sorted(sessions, key=lambda info: -info.inherited.total)
    origins = {info.id for info in known}
    for info in known:
        if info.parent is None or info.parent.session not in origins:
            yield info, 0
        elif info.parent.kind == "subagent":
            continue
        else:
            yield info, info.parent.seq if info.parent.kind == "fork" else 0
        if info.parent is not None and info.parent.kind == "fork":
            origins.add(info.parent.session)


def _apart(sessions: Iterable[SessionInfo]) -> Iterator[SessionInfo]:
    """Yield the sessions, each with its own usage alone."""
    for info, inherited in counted(sessions):
        cost = None if info.cost is None else max(0.0, info.cost - (info.inherited_cost or 0.0))
        yield replace(info, usage=info.usage - info.inherited, cost=cost) if inherited else info


def _to_json(one: CostSum) -> dict[str, Any]:
    return {"sessions": one.count, "usage": usage_to_json(one.usage), "cost": one.cost}

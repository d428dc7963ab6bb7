"""What sessions used, per model and per day, from `session.json` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentcli.core.chart import bars
from agentcli.core.codec import usage_to_json
from agentcli.core.message import Usage
from agentcli.sessions.info import Info

NAME = 28
"""Characters of a model's name beyond which its bar no longer stands below the others."""


def collect(sessions: Iterable[Info]) -> dict[str, Any]:
    """Sums under `total`, `models` and `days` (UTC): sessions, usage and cost in USD (None where no price is known).

    What a fork inherited counts once: in the session that it comes from, or where that is gone in the longest of its
    forks. What a subagent used counts in the session that sent it.
    """
    total, models, days = _Sum(), dict[str, _Sum](), dict[str, _Sum]()
    for info in _apart(sessions):
        for part in (
            total,
            models.setdefault(info.model or "?", _Sum()),
            days.setdefault(info.time.updated[:10], _Sum()),
        ):
            part.add(info)
    ordered = {day: days[day].to_json() for day in sorted(days)}
    return {
        "total": total.to_json(),
        "models": {name: part.to_json() for name, part in models.items()},
        "days": ordered,
    }


def lines(found: dict[str, Any]) -> Sequence[str]:
    """The same for people, with a bar for each model, those used most first, and for each day."""
    total = found["total"]
    count = total["sessions"]
    head = f"{count} session{'s' * (count != 1)}, {_tokens(total):,} tokens, {_money(total)}"
    models = dict(sorted(found["models"].items(), key=lambda one: -_tokens(one[1])))
    return [head, "", "per model", *_chart(models), "", "per day", *_chart(found["days"])]


def _chart(parts: dict[str, Any]) -> list[str]:
    wide = min(max(map(len, parts), default=0), NAME)
    drawn = bars([_tokens(part) for part in parts.values()])
    return [
        f"  {name:{wide}}  {bar}  {_tokens(part):>12,}  {_money(part)}"
        for (name, part), bar in zip(parts.items(), drawn, strict=True)
    ]


def _apart(sessions: Iterable[Info]) -> Iterator[Info]:
    """The sessions, each with what was spent in it alone."""
    known = sorted(sessions, key=lambda info: -info.inherited.total)
    origins = {info.id for info in known}
    for info in known:
        if info.parent is None or info.parent.session not in origins:
            yield info
        elif info.parent.kind == "subagent":
            continue
        else:
            cost = None if info.cost is None else max(0.0, info.cost - (info.inherited_cost or 0.0))
            yield replace(info, usage=info.usage - info.inherited, cost=cost)
        if info.parent is not None and info.parent.kind == "fork":
            origins.add(info.parent.session)


class _Sum:
    def __init__(self) -> None:
        self.sessions, self.usage, self.cost = 0, Usage(), None

    sessions: int
    usage: Usage
    cost: float | None

    def add(self, info: Info) -> None:
        self.sessions += 1
        self.usage += info.usage
        if info.cost is not None:
            self.cost = (self.cost or 0.0) + info.cost

    def to_json(self) -> dict[str, Any]:
        return {"sessions": self.sessions, "usage": usage_to_json(self.usage), "cost": self.cost}


def _tokens(part: dict[str, Any]) -> int:
    usage = part["usage"]
    return int(usage["input"] + usage["cache_read"] + usage["cache_write"] + usage["output"])


def _money(part: dict[str, Any]) -> str:
    return "price unknown" if part["cost"] is None else f"${part['cost']:,.4f}"

"""What sessions used, per model and per day, from `session.json` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentcli.core.codec import usage_to_json
from agentcli.core.message import Usage
from agentcli.sessions.info import Info

BAR = 30
"""Characters of the longest bar."""


def collect(sessions: Iterable[Info]) -> dict[str, Any]:
    """Sums under `total`, `models` and `days` (UTC): sessions, usage and cost in USD (None where no price is known).

    What a fork inherited counts once: in the session that it comes from, or where that is gone in the longest of its forks.
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
    """The same for people, with a bar for each day."""
    total = found["total"]
    head = f"{total['sessions']} sessions, {_tokens(total):,} tokens, {_money(total)}"
    shown = [head, "", "per model"]
    shown += [f"  {name:40} {_tokens(part):>14,} tokens  {_money(part)}" for name, part in found["models"].items()]
    most = max((_tokens(part) for part in found["days"].values()), default=0) or 1
    shown += ["", "per day"]
    for day, part in found["days"].items():
        bar = "█" * max(1, round(BAR * _tokens(part) / most))
        shown.append(f"  {day}  {bar:{BAR}}  {_tokens(part):>12,}  {_money(part)}")
    return shown


def _apart(sessions: Iterable[Info]) -> Iterator[Info]:
    """The sessions, each with what was spent in it alone."""
    known = sorted(sessions, key=lambda info: -info.inherited.total)
    origins = {info.id for info in known}
    for info in known:
        if info.parent is None or info.parent.session not in origins:
            yield info
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

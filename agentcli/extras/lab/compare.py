"""Comparison of sessions under several policies: cost, requests, and how much of what the same work needed was in view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import Any

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.history import in_force
from agentcli.core.record import Record
from agentcli.extras.lab.demand import PARTS
from agentcli.extras.lab.oracle import PIECE, ideal
from agentcli.extras.lab.replay import Played, Setup, replay

COLUMNS = (
    "policy", "requests", "peak", "compactions", "prunes", "fresh", "written", "read", "output", "cost", "kept", "lost", "code4", "after20",
    "cost incl. re-reads", "overflows",
)  # fmt: skip
"""`kept` is the share of names needed by replies that was in view. `cost incl. re-reads` is the cost with one recall
for each reply that missed something. `code4` is the share of repeated word sequences in inputs of calls that was in view. `after20` is
about names used by the next 20 replies: the share that the first request after a compaction had.
"""
LARGE = 1_000_000
"""Number of tokens from which a table shows thousands."""
ORACLE = "oracle"
"""Name of the row with the least price."""
TENTHS = ("kept over time", *(str(n) for n in range(1, PARTS + 1)))


@dataclass(frozen=True, slots=True)
class Report:
    """Results of each session under each policy: `played[session][policy]`, sessions by name."""

    policies: tuple[str, ...]
    played: Mapping[str, Mapping[str, Played]]
    oracle: Mapping[str, float] = field(default_factory=dict)
    """By session the least price in USD, under an oracle that knows which pieces are needed again."""

    def totals(self) -> dict[str, Played]:
        """Return each policy's result over all sessions, with `sizes` one after the other."""
        return {policy: reduce(_both, (each[policy] for each in self.played.values())) for policy in self.policies}

    def tables(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Yield a title and rows under `COLUMNS` for each session, and for all of them if there are several."""
        for name, played in self.played.items():
            yield name, [*map(_cells, played.values()), *_oracle_cells(self.oracle.get(name))]
        if len(self.played) > 1:
            least = sum(self.oracle.values()) if len(self.oracle) == len(self.played) else None
            yield f"all {len(self.played)} sessions", [*map(_cells, self.totals().values()), *_oracle_cells(least)]

    def tenths(self, session: str) -> list[tuple[str, ...]]:
        """Return a session's rows under `TENTHS`: what was in view in each tenth of its requests."""
        played = self.played[session].values()
        return [(each.policy, *(f"{share:.0%}" for share in each.needs.tenths())) for each in played]

    def to_json(self) -> dict[str, Any]:
        """Return the results for scripts."""
        return {
            "sessions": {
                name: {policy: played_json(each) for policy, each in played.items()}
                for name, played in self.played.items()
            },
            "total": {policy: played_json(each) for policy, each in self.totals().items()} if self.played else {},
            "oracle": {name: round(price, 6) for name, price in self.oracle.items()},
        }


def compare(
    sessions: Mapping[str, Sequence[Record]], policies: Sequence[str], setup: Setup | Mapping[str, Setup]
) -> Report:
    """Replay every session under every policy; `setup` is one for all sessions, or one for each by its name.

    A policy may have a horizon (`auto@40`), which replaces `context.compact_horizon`. Raise ConfigError for an unknown
    policy, or a horizon that is not a number.
    """
    setups = dict.fromkeys(sessions, setup) if isinstance(setup, Setup) else setup
    played = {
        name: {policy: _replayed(records, policy, setups[name]) for policy in policies}
        for name, records in sessions.items()
    }
    return Report(tuple(policies), played, _least(sessions, setups))


def _least(sessions: Mapping[str, Sequence[Record]], setups: Mapping[str, Setup]) -> dict[str, float]:
    """Return the least price of each session whose model has prices."""
    priced = {name: setups[name].model for name in sessions if setups[name].model.prices is not None}
    return {name: ideal(in_force(list(sessions[name])), model, PIECE).price for name, model in priced.items()}


def _replayed(records: Sequence[Record], named: str, setup: Setup) -> Played:
    policy, _, horizon = named.partition("@")
    if not horizon:
        return replay(records, policy, setup)
    try:
        settings = replace(setup.settings, compact_horizon=float(horizon))
    except ValueError:
        raise ConfigError(f"{named!r} names no horizon. Write a number of requests, as in {policy}@20.") from None
    return replace(replay(records, policy, replace(setup, settings=settings)), policy=named)


def played_json(played: Played) -> dict[str, Any]:
    """Return one run for scripts. Shares are 0 to 1, money is USD, null if the model's price is unknown."""
    return {
        "requests": played.requests,
        "peak": played.peak,
        "compactions": played.compactions,
        "prunes": played.prunes,
        "usage": usage_to_json(played.usage),
        "cost": _usd(played, played.cost),
        "summary_cost": _usd(played, played.summary_cost),
        "cost_with_recalls": _usd(played, played.charged),
        "needed": sum(played.needs.needed),
        "missed": sum(played.needs.missed),
        "in_view": round(played.needs.in_view, 4),
        "code4": round(played.needs.code4, 4),
        "after20": round(played.needs.after20, 4),
        "in_view_by_tenth": [round(share, 4) for share in played.needs.tenths()],
        "overflows": played.overflows,
        "refused": played.refused,
        "broken": list(played.broken),
        "sizes": list(played.sizes),
    }


def _cells(played: Played) -> tuple[str, ...]:
    usage = played.usage
    numbers = (played.requests, played.peak, played.compactions, played.prunes)
    tokens = (usage.input, usage.cache_write, usage.cache_read, usage.output)
    overflows = f"{played.overflows}" + (f" ({played.refused} refused)" if played.refused else "")
    return (
        played.policy,
        *(f"{number:,}" for number in numbers),
        *(f"{number:,}" if number < LARGE else f"{number / 1_000:,.0f}k" for number in tokens),
        money(played, played.cost),
        f"{played.needs.in_view:.1%}",
        f"{sum(played.needs.missed):,}",
        f"{played.needs.code4:.1%}",
        f"{played.needs.after20:.1%}",
        money(played, played.charged),
        overflows,
    )


def _oracle_cells(price: float | None) -> Iterator[tuple[str, ...]]:
    if price is not None:
        prices = {"policy": ORACLE, "cost": f"${price:.2f}", "cost incl. re-reads": f"${price:.2f}", "kept": "100%"}
        yield tuple(prices.get(column, "") for column in COLUMNS)


def money(played: Played, amount: float) -> str:
    """Return an amount of a run as text: `unknown` if its model has no price."""
    return f"${amount:.2f}" if played.priced else "unknown"


def _usd(played: Played, amount: float) -> float | None:
    return round(amount, 6) if played.priced else None


def _both(one: Played, other: Played) -> Played:
    return Played(
        one.policy,
        one.sizes + other.sizes,
        one.usage + other.usage,
        one.cost + other.cost,
        one.summary_cost + other.summary_cost,
        one.compactions + other.compactions,
        one.prunes + other.prunes,
        one.overflows + other.overflows,
        one.refused + other.refused,
        one.needs + other.needs,
        one.recalls + other.recalls,
        one.planted + other.planted,
        tuple(sorted({*one.broken, *other.broken})),
        one.priced and other.priced,
    )

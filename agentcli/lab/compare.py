"""Comparison of sessions under several policies: cost, requests and retained facts of the same work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.record import Record
from agentcli.lab.replay import Played, Setup, replay

COLUMNS = (
    "policy", "requests", "peak", "compactions", "prunes", "fresh", "written", "read", "output", "cost", "kept", "recallable",
    "again", "overflows",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """Results of each session under each policy: `played[session][policy]`, sessions by name."""

    policies: tuple[str, ...]
    played: Mapping[str, Mapping[str, Played]]

    def totals(self) -> dict[str, Played]:
        """Return each policy's result over all sessions, with `sizes` one after the other."""
        return {policy: reduce(_both, (each[policy] for each in self.played.values())) for policy in self.policies}

    def tables(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Yield a title and rows under `COLUMNS` for each session, and for all of them if there are several."""
        for name, played in self.played.items():
            yield name, [_cells(each) for each in played.values()]
        if len(self.played) > 1:
            yield f"all {len(self.played)} sessions", [_cells(each) for each in self.totals().values()]

    def to_json(self) -> dict[str, Any]:
        """Return the results for scripts."""
        return {
            "sessions": {
                name: {policy: played_json(each) for policy, each in played.items()}
                for name, played in self.played.items()
            },
            "total": {policy: played_json(each) for policy, each in self.totals().items()} if self.played else {},
        }


def compare(
    sessions: Mapping[str, Sequence[Record]], policies: Sequence[str], setup: Setup | Mapping[str, Setup]
) -> Report:
    """Replay every session under every policy; `setup` is one for all sessions, or one for each by its name.

    A policy may be named with a horizon (`auto@40`), which replaces `context.compact_horizon`.
    Raise ConfigError for a policy that does not exist, or a horizon that is no number.
    """
    setups = dict.fromkeys(sessions, setup) if isinstance(setup, Setup) else setup
    played = {
        name: {policy: _replayed(records, policy, setups[name]) for policy in policies}
        for name, records in sessions.items()
    }
    return Report(tuple(policies), played)


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
    """Return one run for scripts. Shares are 0 to 1, money is USD."""
    return {
        "requests": played.requests,
        "peak": played.peak,
        "compactions": played.compactions,
        "prunes": played.prunes,
        "usage": usage_to_json(played.usage),
        "cost": round(played.cost, 6),
        "summary_cost": round(played.summary_cost, 6),
        "facts": played.kept.facts,
        "retention": round(played.kept.retention, 4),
        "recoverability": round(played.kept.recoverability, 4),
        "overflows": played.overflows,
        "refused": played.refused,
        "again": played.again,
        "broken": list(played.broken),
        "sizes": list(played.sizes),
    }


def _cells(played: Played) -> tuple[str, ...]:
    usage = played.usage
    numbers = (played.requests, played.peak, played.compactions, played.prunes)
    tokens = (usage.input, usage.cache_write, usage.cache_read, usage.output)
    overflows = f"{played.overflows}" + (f" ({played.refused} refused)" if played.refused else "")
    shares = (f"{played.kept.retention:.1%}", f"{played.kept.recoverability:.1%}")
    return (
        played.policy,
        *(f"{number:,}" for number in (*numbers, *tokens)),
        f"${played.cost:.2f}",
        *shares,
        f"{played.again:,}",
        overflows,
    )


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
        one.again + other.again,
        one.kept + other.kept,
        one.planted + other.planted,
        tuple(sorted({*one.broken, *other.broken})),
    )

"""What each policy keeps of what the work needs, and its price: `python -m tests.bench.bench_demand FOLDER [PROCESSES] [POLICY …]`.

FOLDER holds recorded sessions of any program whose sessions agentcli imports. Each is replayed under each policy by the code that
runs live, with the provider's cache emulated; every request is judged by the same needs of its recorded reply (see `demand.py`).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import quantiles

from agentcli.core.errors import InputError
from agentcli.core.history import in_force
from agentcli.core.record import Record
from agentcli.extras.importers.sessions import read
from agentcli.extras.lab.replay import Setup, replay
from agentcli.program.command_line.printing import Column, print_table
from tests.bench.bench_lab import setup
from tests.bench.demand import Demand, Judged

POLICIES = ("auto", "gemini", "opencode", "sliding", "native", "regions")
YARDSTICK = "gemini"
BEHIND, AT_MOST = 0.02, 0.50
"""The goal for `auto`: the share in view at most this much below that of the yardstick, at this share of its price."""
COLUMNS = ("policy", "in view", "missed", "price", "of gemini's", "by record", "of gemini's", "by name", "of gemini's")
PLACES = 8
"""Places of misses that are shown, the most frequent first."""


def main() -> None:
    """Judge every session of the folder under every policy, and print the tables."""
    folder, processes, *chosen = (*sys.argv[1:], "2") if len(sys.argv) == 2 else sys.argv[1:]
    started = time.perf_counter()
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".jsonl", ".json"))
    sessions: dict[str, dict[str, Judged]] = {}
    with ProcessPoolExecutor(int(processes)) as pool:
        played = pool.map(partial(judge_file, policies=tuple(chosen) or POLICIES), files)
        for file, judged in zip(files, played, strict=True):
            if judged:
                sessions[file.stem] = judged
                show(file.stem, judged)
    if len(sessions) > 1:
        show(f"all {len(sessions)} sessions", total(sessions.values()), tenths=False)
    print(f"{len(sessions)} of {len(files)} files in {time.perf_counter() - started:.0f} s")


def judge_file(path: Path, policies: Sequence[str]) -> dict[str, Judged]:
    """The session in a file under each policy; nothing, and a line on stderr, if it cannot be read or holds no reply."""
    try:
        records = [Record(seq, "", at, "", body) for seq, (at, body) in enumerate(read(path).bodies, 1)]
    except InputError as error:
        print(f"left out: {error}", file=sys.stderr)
        return {}
    return judge(records, policies, setup())


def judge(records: Sequence[Record], policies: Sequence[str], conditions: Setup) -> dict[str, Judged]:
    """A session under each policy, judged by the same needs."""
    demand = Demand(in_force(list(records)))
    return {policy: _under(policy, demand, records, conditions) for policy in policies if demand.replies}


def total(sessions: Iterable[Mapping[str, Judged]]) -> dict[str, Judged]:
    """Each policy over all sessions."""
    both: dict[str, Judged] = {}
    for session in sessions:
        for policy, judged in session.items():
            known = both.setdefault(policy, Judged())
            known.asked += judged.asked
            known.besides += judged.besides
    return both


def show(name: str, judged: Mapping[str, Judged], *, tenths: bool = True) -> None:
    """Print the table of a session, its tenths, where the misses last stood with the quartiles of their age in records, and the goal.

    Prices are without misses, with a recall for each record that something is missed of, and with one for each name.
    """
    one = next(iter(judged.values()))
    print(f"\n{name}: {len(one.asked):,} requests need {one.needed:,} names and values", flush=True)
    rows = [_cells(policy, each, judged.get(YARDSTICK, each)) for policy, each in judged.items()]
    print_table([Column(column, numeric=n > 0) for n, column in enumerate(COLUMNS)], rows)
    for policy, each in judged.items():
        ages = [need.age for need in each.missed]
        places = Counter(need.origin.place for need in each.missed).most_common(PLACES)
        quarters = quantiles(ages, method="inclusive") if len(ages) > 1 else ages * 3
        if tenths:
            print(f"  {policy:9} by tenth " + " ".join(f"{share:.3f}" for share in each.tenths()))
        if ages:
            shares = ", ".join(f"{place} {count / len(ages):.0%}" for place, count in places)
            print(f"  {policy:9} misses last stood in: {shares}; age " + "/".join(f"{n:.0f}" for n in quarters))
    if "auto" in judged and YARDSTICK in judged:
        print("  " + verdict(judged["auto"], judged[YARDSTICK]))


def verdict(auto: Judged, other: Judged) -> str:
    """The goal, and whether it is met with a recall charged for every name that is missed; and the part of the price that no policy saves."""
    share = auto.price_by_name / other.price_by_name if other.price_by_name else 1.0
    met = auto.in_view >= other.in_view - BEHIND and share <= AT_MOST
    least = other.least / other.price_by_name if other.price_by_name else 1.0
    figures = f"auto {auto.in_view:.3f} in view, {YARDSTICK} {other.in_view:.3f}, at {share:.0%} of its price"
    return f"{'met' if met else 'MISSED'}: {figures} ({least:.0%} are replies and what is new in each request)"


def _under(policy: str, demand: Demand, records: Sequence[Record], conditions: Setup) -> Judged:
    judge = demand.judge()
    played = replay(records, policy, conditions, watch=judge.watch)
    return judge.judged(played.summary_cost)


def _cells(policy: str, each: Judged, other: Judged) -> tuple[str, ...]:
    prices = [
        cell
        for ours, theirs in (
            (each.price, other.price),
            (each.price_by_record, other.price_by_record),
            (each.price_by_name, other.price_by_name),
        )
        for cell in (f"${ours:.2f}", f"{ours / theirs:.0%}" if theirs else "")
    ]
    return (policy, f"{each.in_view:.3f}", f"{len(each.missed):,}", *prices)


if __name__ == "__main__":
    main()

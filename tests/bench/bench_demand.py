"""What each policy keeps of what the work needs, and its price: `python -m tests.bench.bench_demand FOLDER [POLICY …]`.

FOLDER holds recorded sessions of any program whose sessions agentcli imports. Each is replayed under each policy and in each window
(`--windows 200,64,24`, in thousands of tokens) by the code that runs live, with the provider's cache emulated. Every request is judged
by the needs of its recorded reply (see `demand.py`), and the price is compared with that of two oracles.
`--misses` also says where the misses last stood, `--json FILE` writes all figures.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import quantiles

from agentcli.core.errors import InputError
from agentcli.core.history import in_force
from agentcli.core.record import Record
from agentcli.extras.importers.sessions import read
from agentcli.extras.lab.oracle import PIECE, WHOLE, Reading, ideal
from agentcli.extras.lab.replay import Setup, replay
from agentcli.program.command_line.printing import Column, print_table
from tests.bench.bench_lab import setup
from tests.bench.demand import Demand, Judged, given, in_words, placed, sequences, used

POLICIES = ("auto", "gemini", "opencode", "sliding", "native", "regions")
YARDSTICK = "gemini"
BEHIND = 0.01
"""How much less of the word sequences of calls `auto` may show than the yardstick."""
AT_MOST = {200: 0.55, 64: 0.85}
"""The goal for the price of `auto`, as a share of the yardstick's, by window in thousands of tokens."""
COLUMNS = (
    "policy", "names", "code4", "after20", "compactions", "mean prompt", "price", "with recalls", "of gemini's", "over pieces",
)  # fmt: skip
PLACES = 8
"""Places of misses that are shown, the most frequent first."""

INSTRUMENT = Reading(
    lambda body: ((kind == "a prompt", text) for kind, text in placed(body)),
    lambda text: (*in_words(text), *sequences(text)),
    lambda reply: (*used(reply), *given(reply)),
)
"""The oracles judge by the same needs as the rest of this bench."""


@dataclass(frozen=True)
class Session:
    """A session in one window: what each policy showed, and USD under the two oracles."""

    name: str
    window: int
    judged: Mapping[str, Judged]
    whole: float
    pieces: float


def main() -> None:
    """Judge every session of the folder under every policy and window, and print the tables."""
    asked = arguments()
    started = time.perf_counter()
    files = sorted(path for path in Path(asked.folder).rglob("*") if path.suffix in (".jsonl", ".json"))
    windows = tuple(int(each) for each in asked.windows.split(","))
    policies = tuple(asked.policies) or POLICIES
    found: list[Session] = []
    with ProcessPoolExecutor(asked.processes) as pool:
        for each in pool.map(partial(judge_file, policies=policies, windows=windows), files):
            found += each
    for window in windows:
        here = [each for each in found if each.window == window]
        for each in here:
            show(each, misses=asked.misses)
        if len(here) > 1:
            show(total(here), misses=False)
    if asked.json:
        rows = {f"{each.name}@{each.window}": figures(each) for each in found}
        Path(asked.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(f"{len({each.name for each in found})} of {len(files)} files in {time.perf_counter() - started:.0f} s")


def arguments() -> Namespace:
    """The arguments of the command line."""
    parser = ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--windows", default="200,64,24")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", default="")
    return parser.parse_args()


def judge_file(path: Path, policies: Sequence[str], windows: Sequence[int]) -> list[Session]:
    """The session in a file in each window; nothing, and a line on stderr, if it cannot be read or holds no reply."""
    try:
        records = [Record(seq, "", at, "", body) for seq, (at, body) in enumerate(read(path).bodies, 1)]
    except InputError as error:
        print(f"left out: {error}", file=sys.stderr)
        return []
    conditions = setup()
    return [
        judge(path.stem, records, policies, replace(conditions, model=replace(conditions.model, window=window * 1_000)))
        for window in windows
    ]


def judge(name: str, records: Sequence[Record], policies: Sequence[str], conditions: Setup) -> Session:
    """A session under each policy, judged by the same needs, and under the oracles."""
    happened = in_force(list(records))
    demand = Demand(happened)
    judged = {policy: _under(policy, demand, records, conditions) for policy in policies if demand.replies}
    whole, pieces = (ideal(happened, conditions.model, longest, INSTRUMENT).price for longest in (WHOLE, PIECE))
    return Session(name, conditions.model.window // 1_000, judged, whole, pieces)


def total(sessions: Sequence[Session]) -> Session:
    """Each policy over all sessions."""
    both: dict[str, Judged] = {}
    for session in sessions:
        for policy, judged in session.judged.items():
            known = both.setdefault(policy, Judged())
            known.asked += judged.asked
            known.besides += judged.besides
    whole, pieces = sum(each.whole for each in sessions), sum(each.pieces for each in sessions)
    return Session(f"all {len(sessions)} sessions", sessions[0].window, both, whole, pieces)


def figures(session: Session) -> dict[str, dict[str, float]]:
    """All figures of a session: per policy, and the prices of the oracles."""
    policies = {
        policy: {
            "names": each.in_view,
            "code4": each.code4,
            "after20": each.after20,
            "compactions": each.compactions,
            "mean_prompt": _mean(one.size for one in each.asked),
            "price": each.price,
            "with_recalls": each.price_by_reply,
            "least": each.least,
        }
        for policy, each in session.judged.items()
    }
    return {**policies, "oracle": {"whole": session.whole, "pieces": session.pieces}}


def show(session: Session, *, misses: bool) -> None:
    """Print the table of a session, and the goal. Prices are without misses, and with one recall for each reply that misses something."""
    judged = session.judged
    one = next(iter(judged.values()), Judged())
    print(f"\n{session.name} at {session.window}k: {len(one.asked):,} requests need {one.needed:,} names", flush=True)
    other = judged.get(YARDSTICK, one)
    rows = [_cells(policy, each, other, session.pieces) for policy, each in judged.items()]
    for name, price in (("oracle, whole", session.whole), ("oracle, pieces", session.pieces)):
        rows.append((name, *("",) * 5, f"${price:.2f}", f"${price:.2f}", *_shares(price, other, session.pieces)))
    print_table([Column(column, numeric=n > 0) for n, column in enumerate(COLUMNS)], rows)
    for policy, each in judged.items() if misses else ():
        for line in places(each):
            print(f"  {policy:9} {line}")
    if "auto" in judged and YARDSTICK in judged:
        print("  " + verdict(judged["auto"], judged[YARDSTICK], session.window))


def places(judged: Judged) -> Iterable[str]:
    """Lines about a policy: the share in view by tenth, and where the misses last stood with the quartiles of their age in records."""
    yield "by tenth " + " ".join(f"{share:.3f}" for share in judged.tenths())
    ages = [need.age for need in judged.missed]
    if not ages:
        return
    stood = Counter(need.origin.place for need in judged.missed).most_common(PLACES)
    quarters = quantiles(ages, method="inclusive") if len(ages) > 1 else ages * 3
    shares = ", ".join(f"{place} {count / len(ages):.0%}" for place, count in stood)
    yield f"misses last stood in: {shares}; age " + "/".join(f"{n:.0f}" for n in quarters)


def verdict(auto: Judged, other: Judged, window: int) -> str:
    """The goal, and whether it is met; and the part of the price that no policy saves."""
    share = auto.price_by_reply / other.price_by_reply if other.price_by_reply else 1.0
    met = auto.code4 >= other.code4 - BEHIND and auto.after20 >= other.after20 and share <= AT_MOST.get(window, 1.0)
    least = other.least / other.price_by_reply if other.price_by_reply else 1.0
    shown = f"code4 {auto.code4:.3f} ({YARDSTICK} {other.code4:.3f}), after20 {auto.after20:.3f} ({other.after20:.3f})"
    return f"{'met' if met else 'MISSED'}: {shown}, {share:.0%} of its price ({least:.0%} are replies and new text)"


def _under(policy: str, demand: Demand, records: Sequence[Record], conditions: Setup) -> Judged:
    judge = demand.judge()
    played = replay(records, policy, conditions, watch=judge.watch)
    return judge.judged(played.summary_cost)


def _cells(policy: str, each: Judged, other: Judged, pieces: float) -> tuple[str, ...]:
    shares = (f"{share:.3f}" for share in (each.in_view, each.code4, each.after20))
    mean = _mean(one.size for one in each.asked)
    price = each.price_by_reply
    return (
        policy, *shares, f"{each.compactions}", f"{mean:,.0f}", f"${each.price:.2f}", f"${price:.2f}",
        *_shares(price, other, pieces),
    )  # fmt: skip


def _shares(price: float, other: Judged, pieces: float) -> tuple[str, str]:
    """A price as a share of the yardstick's, and how far it lies above the oracle of pieces."""
    theirs = other.price_by_reply
    return f"{price / theirs:.3f}" if theirs else "", f"{price / pieces - 1:+.0%}" if pieces else ""


def _mean(sizes: Iterable[int]) -> float:
    sizes = list(sizes)
    return sum(sizes) / len(sizes) if sizes else 0.0


if __name__ == "__main__":
    main()

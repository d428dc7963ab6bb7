"""What each policy would cost: `python -m tests.bench.bench_lab [TRACES] [PROCESSES]`, by default all 200 traces; with 0 only the picture.

Replays made-up sessions (of fewer traces every n-th), and the recorded one where it lies beside the checkout, under every policy with the provider's cache emulated.
The recorded one is drawn, with its oracle, as the README's picture `tests/price.svg`. Prices are those of the model table; a summary is charged as a call of a small model of the same family would be.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from agentcli.context.settings import POLICIES
from agentcli.core.record import Record
from agentcli.extras.importers.sessions import read
from agentcli.extras.lab.compare import COLUMNS, Report, compare
from agentcli.extras.lab.points import points, svg_bars, text_bars
from agentcli.extras.lab.replay import Played, Setup, replay
from agentcli.program.command_line.printing import Column, print_table
from agentcli.providers.catalog import spec
from agentcli.tools.registry import TRAITS
from tests.extras.lab.traces import trace

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-session.jsonl"
MODEL, SUMMARISER = "anthropic/claude-opus-4-5", "anthropic/claude-haiku-4-5"
BASELINE = "opencode"
TRACES = 200
"""Made-up sessions that there are, by seed."""
DRAWN = ("auto", "gemini", "opencode", "native")
PICTURE = Path(__file__).resolve().parents[1] / "price.svg"
GOAL, WINS, PLANTED = 0.50, 0.95, 0.95
BEHIND = 0.02
"""The most that `auto` may hold less in view than `gemini` of what replies need, as a share."""


def main() -> None:
    """Print the table over all traces, then that of the real session, then whether the aims are met."""
    traces, processes = (int(given) for given in (*sys.argv[1:], *("200", "2")[len(sys.argv) - 1 :]))
    started = time.perf_counter()
    played: dict[str, dict[str, Played]] = {}
    with ProcessPoolExecutor(processes) as pool:
        seeds = [number * TRACES // traces for number in range(traces)]
        for seed, each in zip(seeds, pool.map(one, seeds), strict=True):
            played[str(seed)] = each
            print(f"\r{len(played)} of {traces}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    report = Report(POLICIES, played)
    if played:
        show_last_table(report)
    for line in verdict(report) if played else ():
        print(line)
    print(f"{traces} of {TRACES} traces in {time.perf_counter() - started:.0f} s\n")
    if REAL.exists():
        real = compare({"real session": recorded()}, DRAWN, setup())
        drawn = points(real)
        show_last_table(real)
        print("\n".join(text_bars(drawn)))
        title = f"A recorded session of {real.totals()['auto'].requests} requests, with {MODEL.partition('/')[2]}"
        PICTURE.write_text(svg_bars(drawn, title), encoding="utf-8")
        print(f"auto costs {cheaper(real, 'auto', BASELINE):.1%} less than {BASELINE}")


def show_last_table(report: Report) -> None:
    """Print the table over all sessions."""
    _, rows = list(report.tables())[-1]
    print_table([Column(name, numeric=n > 0) for n, name in enumerate(COLUMNS)], rows)


def one(seed: int) -> dict[str, Played]:
    """One made-up session under every policy."""
    made = trace(seed)
    play = partial(replay, made.records, setup=setup(), planted=made.planted)
    return {policy: play(policy) for policy in POLICIES}


def recorded() -> list[Record]:
    """The recorded session."""
    return [Record(seq, "", time, "", body) for seq, (time, body) in enumerate(read(REAL).bodies, 1)]


def setup(model: str = MODEL) -> Setup:
    """The conditions of this bench."""
    return Setup(replace(spec(model), summary_prices=spec(SUMMARISER).prices), TRAITS)


def verdict(report: Report) -> list[str]:
    """Each aim, what was measured, and whether it is met."""
    auto, gemini = report.totals()["auto"], report.totals()["gemini"]
    saved = sorted(1 - each["auto"].cost / each[BASELINE].cost for each in report.played.values())
    enough = sum(share >= GOAL for share in saved) / len(saved)
    aims = [
        (f"auto below the plain prune rule, over all: {cheaper(report, 'auto', BASELINE):.1%}", cheaper(report, "auto", BASELINE) >= GOAL),
        (f"in the median trace: {saved[len(saved) // 2]:.1%}; by {GOAL:.0%} or more in {enough:.1%} of traces", None),
        (f"below every other policy in {wins(report, 'auto'):.1%} of traces", wins(report, "auto") >= WINS),
        (f"needed and in view {auto.needs.in_view:.1%}, under gemini {gemini.needs.in_view:.1%}", auto.needs.in_view >= gemini.needs.in_view - BEHIND),
        (f"overflows: {auto.overflows}, refused: {auto.refused}", auto.overflows == 0),
        (f"planted facts retained or recallable: {auto.planted.recoverability:.1%}", auto.planted.recoverability >= PLANTED),
        (f"violated invariants: {', '.join(auto.broken) or 'none'}", not auto.broken),
    ]  # fmt: skip
    return [f"{'      ' if met is None else 'met   ' if met else 'MISSED'} {what}" for what, met in aims]


def cheaper(report: Report, policy: str, other: str) -> float:
    """How much less the one policy cost than the other over all sessions: 0.4 is 40 %, below 0 is more."""
    totals = report.totals()
    return 1 - totals[policy].cost / totals[other].cost if totals[other].cost else 0.0


def wins(report: Report, policy: str) -> float:
    """The share of sessions in which the policy cost less than every other."""
    won = [
        all(each[policy].cost < played.cost for name, played in each.items() if name != policy)
        for each in report.played.values()
    ]
    return sum(won) / len(won) if won else 0.0


if __name__ == "__main__":
    main()

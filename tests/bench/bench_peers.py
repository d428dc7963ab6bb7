"""agentcli beside the coding agents that are installed, all in one run, as a table in Markdown.

    PEERS=FOLDER/node_modules/.bin python -m tests.bench.bench_peers [--rounds N] [--turns N] [PROGRAM ...]

`tests/bench/peers.md` says how to install them and what each column means. Programs take turns, so that the load of the machine falls on all
of them alike. Run it where bytecode may be written (PYTHONDONTWRITEBYTECODE unset).
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from tests.bench.peers import measure
from tests.bench.peers.cost import units
from tests.bench.peers.first_key import first_key
from tests.bench.peers.measure import Ran
from tests.bench.peers.programs import PEERS, Peer

ROUNDS = 5
EARLY, TURNS = 40, 200
NOT = "not measured"
Row = tuple[Peer, str]
_Value = TypeVar("_Value")


def main(arguments: Sequence[str]) -> None:
    """Print the table, and below it why a figure is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the longest run, at least %(default)s")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    asked = parser.parse_args(arguments)
    rows = [
        (peer, wire)
        for peer in PEERS
        if peer.program and (not asked.programs or peer.name in asked.programs)
        for wire in peer.wires
    ]
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; load {_load()} at the start",
        flush=True,
    )
    nothing = statistics.median(measure.command([sys.executable, "-c", "pass"]) for _ in range(asked.rounds))
    columns, faults = _columns(rows, asked.rounds, max(asked.turns, TURNS))
    print(f"load {_load()} at the end; `python -c pass` takes {nothing * 1000:.0f} ms\n")
    print(f"| program | wire | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for number, (peer, wire) in enumerate(rows):
        print(f"| {' | '.join((peer.name, wire, *(cells[number] for cells in columns.values())))} |")
    for fault in faults:
        print(f"\n{fault}")
    missing = [peer.name for peer in PEERS if not peer.program]
    if missing:
        print(f"\nNot installed: {', '.join(missing)}")


def _columns(rows: Sequence[Row], rounds: int, most: int) -> tuple[dict[str, list[str]], list[str]]:
    """The cells below each heading, and why some are missing. The longest runs have `most` turns."""
    keys = _of_programs(rows, rounds, first_key)
    shots = _repeated(rows, rounds, measure.once)
    helps = _of_programs(rows, rounds, lambda peer, _: measure.option(peer, "--help"))
    versions = _of_programs(rows, rounds, lambda peer, _: measure.option(peer, "--version"))
    marks = sorted({0, EARLY, TURNS, most})
    long = _repeated(rows, rounds, lambda peer, wire: measure.play(peer, wire, most, marks))
    faults = [
        f"{peer.name}, {wire}: turns are {NOT}: {fault}"
        for (peer, wire), runs in zip(rows, long, strict=True)
        for fault in {run.fault for run in runs if run.fault}
    ]
    columns = {
        "first key": keys,
        "one-shot, wall": [_milliseconds([_good(run, run.wall) for run in runs]) for runs in shots],
        "one-shot, CPU": [_milliseconds([_good(run, run.processor) for run in runs]) for runs in shots],
    }
    for first, last in pairwise(marks):
        columns[f"turn {first + 1}-{last:,}"] = [
            _milliseconds([_turn(run, first, last) for run in runs], 1) for runs in long
        ]
    sound = [[run for run in runs if not run.fault] for runs in long]
    columns |= {
        "peak memory": [
            f"{statistics.median(run.peak for run in runs) / 1e6:.0f} MB" if runs else NOT for runs in sound
        ],
        "--help": helps,
        "--version": versions,
        f"{EARLY} reads": [f"{units(runs[0].requests[: EARLY + 1]):,}" if runs else NOT for runs in sound],
    }
    return columns, faults


def _of_programs(rows: Sequence[Row], rounds: int, measured: Callable[[Peer, str], float | None]) -> list[str]:
    """The medians of what does not depend on the wire: they stand in a program's first row."""
    first = [(peer, wire) for peer, wire in rows if wire == peer.wires[0]]
    found = dict(zip([peer.name for peer, _ in first], _repeated(first, rounds, measured), strict=True))
    return [_milliseconds(found[peer.name]) if (peer, wire) in first else "" for peer, wire in rows]


def _repeated(rows: Sequence[Row], rounds: int, measured: Callable[[Peer, str], _Value]) -> list[list[_Value]]:
    """The values of each row; the rows take turns, and a first round is thrown away."""
    found: list[list[_Value]] = [[] for _ in rows]
    for _ in range(rounds + 1):
        for number, (peer, wire) in enumerate(rows):
            found[number].append(measured(peer, wire))
    return [each[1:] for each in found]


def _good(run: Ran, value: float) -> float | None:
    return None if run.fault else value


def _turn(run: Ran, first: int, last: int) -> float | None:
    """Seconds of processor time of a turn between two numbers of reads done."""
    if run.fault or not {first, last} <= run.clock.keys():
        return None
    return (run.clock[last] - run.clock[first]) / (last - first)


def _milliseconds(seconds: Iterable[float | None], digits: int = 0) -> str:
    known = [each for each in seconds if each is not None]
    return f"{statistics.median(known) * 1000:,.{digits}f} ms" if known else NOT


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main(sys.argv[1:])

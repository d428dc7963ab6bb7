"""agentcli beside the coding agents that are installed, all in one run, as a table in Markdown.

    PEERS=FOLDER/node_modules/.bin python -m tests.bench.bench_peers [--rounds N] [PROGRAM ...]

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
from typing import TypeVar

from tests.bench.peers import measure
from tests.bench.peers.cost import units
from tests.bench.peers.first_key import first_key
from tests.bench.peers.measure import Ran
from tests.bench.peers.programs import PEERS, Peer

ROUNDS = 5
EARLY, LATE = 40, 200
HEAD = (
    "program",
    "wire",
    "first key",
    "one-shot, wall",
    "one-shot, CPU",
    f"turn 1-{EARLY}",
    f"turn {EARLY + 1}-{LATE}",
    "peak memory",
    "--help",
    "--version",
    f"{EARLY} reads",
)
NOT = "not measured"
Row = tuple[Peer, str]
_Value = TypeVar("_Value")


def main(arguments: Sequence[str]) -> None:
    """Print the table, and below it why a figure is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
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
    columns, faults = _columns(rows, asked.rounds)
    print(f"load {_load()} at the end; `python -c pass` takes {nothing * 1000:.0f} ms\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for number, (peer, wire) in enumerate(rows):
        print(f"| {' | '.join((peer.name, wire, *(column[number] for column in columns)))} |")
    for fault in faults:
        print(f"\n{fault}")
    missing = [peer.name for peer in PEERS if not peer.program]
    if missing:
        print(f"\nNot installed: {', '.join(missing)}")


def _columns(rows: Sequence[Row], rounds: int) -> tuple[list[list[str]], list[str]]:
    """The cells below each heading, and why some are missing."""
    keys = _of_programs(rows, rounds, first_key)
    shots = _repeated(rows, rounds, measure.once)
    helps = _of_programs(rows, rounds, lambda peer, _: measure.option(peer, "--help"))
    versions = _of_programs(rows, rounds, lambda peer, _: measure.option(peer, "--version"))
    turns = [measure.play(peer, wire, LATE, (0, EARLY, LATE)) for peer, wire in rows]
    faults = [
        f"{peer.name}, {wire}: turns are {NOT}: {ran.fault}"
        for (peer, wire), ran in zip(rows, turns, strict=True)
        if ran.fault
    ]
    columns = [
        keys,
        [_milliseconds([_good(ran, ran.wall) for ran in each]) for each in shots],
        [_milliseconds([_good(ran, ran.processor) for ran in each]) for each in shots],
        [_turn(ran, 0, EARLY) for ran in turns],
        [_turn(ran, EARLY, LATE) for ran in turns],
        [f"{ran.peak / 1e6:.0f} MB" if not ran.fault else NOT for ran in turns],
        helps,
        versions,
        [f"{units(ran.requests[: EARLY + 1]):,}" if not ran.fault else NOT for ran in turns],
    ]
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


def _good(ran: Ran, value: float) -> float | None:
    return None if ran.fault else value


def _turn(ran: Ran, first: int, last: int) -> str:
    """Processor time of a turn between two numbers of reads done."""
    if ran.fault or not {first, last} <= ran.clock.keys():
        return NOT
    return f"{(ran.clock[last] - ran.clock[first]) / (last - first) * 1000:.1f} ms"


def _milliseconds(seconds: Iterable[float | None]) -> str:
    known = [each for each in seconds if each is not None]
    return f"{statistics.median(known) * 1000:,.0f} ms" if known else NOT


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main(sys.argv[1:])

"""Memory, processor time, file handles, threads and tasks of one process in a long session, with dozens of compactions.

    python -m tests.bench.bench_life [TURNS] [WIRE ...] [traced] [sites] [repl]

`traced` counts the bytes of Python objects, which takes twice the time; `sites` prints the lines of code whose objects grew; `repl` types the
prompts into the REPL in a pseudo-terminal.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.bench_turns import MODELS
from tests.bench.long_life import Count, counted
from tests.bench.typed_life import typed

TURNS = 3_000
COUNTS = 10
KINDS = 12
"""Classes named whose objects have become more."""


def main(arguments: Sequence[str]) -> None:
    """A table for each wire: a row for each tenth of the life."""
    turns = next((int(word) for word in arguments if word.isdigit()), TURNS)
    more = {word: True for word in ("traced", "sites") if word in arguments}
    for wire in [word for word in arguments if word in MODELS] or ["anthropic", "google"]:
        if "repl" in arguments:
            _typed(wire, turns)
        else:
            _counted(wire, turns, more)


def _counted(wire: str, turns: int, more: Mapping[str, bool]) -> None:
    """The table of a life in the Python API."""
    print(f"{wire}\n turns  compactions  resident MB  traced MB     blocks  ms a turn  loops  handles  threads  tasks")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for count in counted(wire, Path(folder), turns, turns // COUNTS, **more):
            counts.append(count)
            print(_row(count), flush=True)
    print(_grown(counts[0], counts[-1]))


def _typed(wire: str, turns: int) -> None:
    """The table of a life in the REPL."""
    print(f"{wire}, REPL\n turns  resident MB  ms a turn  ms a key  ms to echo  handles  threads")
    with tempfile.TemporaryDirectory() as folder:
        for count in typed(wire, Path(folder), turns, turns // COUNTS):
            print(
                f"{count.turns:6} {count.resident / 1e6:12.1f} {count.turn * 1000:10.1f} {count.key * 1000:9.2f}"
                f" {count.echo * 1000:11.1f} {count.handles:8} {count.threads:8}",
                flush=True,
            )


def _row(count: Count) -> str:
    return (
        f"{count.turns:6} {count.compactions:12} {count.resident / 1e6:12.1f} {count.most / 1e6:10.2f} {count.blocks:10}"
        f" {count.turn * 1000:10.1f} {count.turn / count.loop:6.1f} {count.handles:8} {count.threads:8} {count.tasks:6}"
    )


def _grown(first: Count, last: Count) -> str:
    """Ratios of the last count to the first, and the classes whose objects have become more."""
    more = {kind: (first.kinds.get(kind, 0), number) for kind, number in last.kinds.items()}
    most = sorted(more.items(), key=lambda each: each[1][0] - each[1][1])[:KINDS]
    listed = ", ".join(f"{kind} {was} → {now}" for kind, (was, now) in most if now > was)
    ratio = f"resident × {last.resident / first.resident:.2f}, blocks × {last.blocks / first.blocks:.2f}"
    return f"{ratio}; more objects: {listed or 'none'}\n"


if __name__ == "__main__":
    main(sys.argv[1:])

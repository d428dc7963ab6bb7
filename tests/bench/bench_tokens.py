"""The price of 40 reads, one a turn, in cost units (`tests/bench/peers/cost.py`), and what it is made of.

    PEERS=FOLDER/node_modules/.bin python -m tests.bench.bench_tokens [PROGRAM ...]

Each program that is installed (`tests/bench/peers.md`) plays the same plan against the same endpoint.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from tests.bench.peers.cost import spent, units
from tests.bench.peers.measure import play
from tests.bench.peers.programs import PEERS
from tests.loopback import Asked

READS = 40


def main(names: Sequence[str]) -> None:
    """Print the price for each program and wire, and its parts."""
    for peer in PEERS:
        if not peer.program or (names and peer.name not in names):
            continue
        for wire in peer.wires:
            ran = play(peer, wire, READS)
            if ran.fault:
                print(f"{peer.name}, {wire}: not measured: {ran.fault}", flush=True)
                continue
            print(f"{peer.name}, {wire}: {units(ran.requests):,} cost units", flush=True)
            for line in breakdown(ran.requests):
                print(f"    {line}", flush=True)


def breakdown(requests: Sequence[Asked]) -> Iterator[str]:
    """Lines on the parts of the first request, the tokens that each turn adds, and those paid for as new over the whole run."""
    first = requests[0].json
    for name in ("tools", "system", "systemInstruction", "instructions", "messages", "contents", "input"):
        if first.get(name):
            yield f"{name}: {tokens(first[name]):,} tokens at the beginning"
    each = spent(requests)
    new = [one.written + one.fresh for one in each[1:]]
    yield f"a turn: {sum(new) / len(new):.0f} tokens"
    total = each[-1].read + each[-1].written + each[-1].fresh
    yield f"paid for as new: {sum(one.written + one.fresh for one in each):,} tokens for a last prompt of {total:,}"
    yield f"read from the cache: {sum(one.read for one in each):,} tokens"


def tokens(value: object) -> int:
    """Tokens of a part of a request."""
    return -(-len(json.dumps(value, ensure_ascii=False)) // 4)


if __name__ == "__main__":
    main(sys.argv[1:])

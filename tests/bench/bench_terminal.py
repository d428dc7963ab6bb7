"""How fast keys echo while a long reply streams, and how many bytes that takes: `python -m tests.bench.bench_terminal`.

A reply of 20,000 tokens at 1,000 tokens/s; a letter that is not on the line is typed ten times a second, until its bytes come back.
The same before the reply, while nothing happens, and the load of the machine stand beside it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from tests.frontends.terminal.preview import long_reply
from tests.terminal import Terminal

BLOCKS, RATE = 1_490, 1_000
LETTERS = "абвгдежзиклмнопрстуфхцчшэюя"
IDLE = 50
"""Keys typed while nothing happens."""
REPOSITORY = Path(__file__).parents[2]


def main() -> None:
    """One line a size: keys, latency, bytes, and whether every block was printed once."""
    text = long_reply(BLOCKS)
    print(f"{len(text.encode()):,} bytes of text, about {len(text) // 4:,} tokens at {RATE:,}/s")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for columns, rows in ((80, 24), (200, 50)):
        print(f"{columns}x{rows}: {_measure(columns, rows, text)}")


def _measure(columns: int, rows: int, text: str) -> str:
    command = [sys.executable, "-m", "tests.frontends.terminal.preview"]
    with Terminal(command, columns=columns, rows=rows, cwd=str(REPOSITORY)) as terminal:
        terminal.until("ask · demo")
        terminal.settle(1.0)
        idle = sorted(_type(terminal, IDLE))
        terminal.send("\x15")
        start = len(terminal.raw)
        terminal.send(f"long {BLOCKS} {RATE}\r", until="#0001")
        spent = sorted(_type(terminal))
        terminal.until("all done", seconds=120)
        terminal.settle()
        ratio = (len(terminal.raw) - start) / len(text.encode())
        found = Counter(re.findall(r"#\d{4}", "\n".join(terminal.history())))
    wrong = sum(found[f"#{n:04}"] != 1 for n in range(BLOCKS))
    echo = f"{len(spent)} keys, echo ms {_percentiles(spent)}, idle {_percentiles(idle)}"
    return f"{echo}; {ratio:.2f} x text; {wrong} blocks lost or twice"


def _percentiles(spent: list[float]) -> str:
    return f"p50 {spent[len(spent) // 2]:.1f} p95 {spent[int(len(spent) * 0.95)]:.1f} max {spent[-1]:.1f}"


def _type(terminal: Terminal, most: int = 100_000) -> list[float]:
    """Milliseconds from each key to its echo, until the reply is over or so many are typed."""
    spent: list[float] = []
    began = len(terminal.raw)
    while len(spent) < most and b"all done" not in terminal.raw[began:]:
        line, place = divmod(len(spent), len(LETTERS))
        # Each line begins with another letter: what stands there already is not written again.
        letter = LETTERS[(line + place) % len(LETTERS)]
        if place == 0 and line:
            terminal.send("\x15")
            terminal.settle(0.0, 0.1)
        terminal.send(letter)
        spent.append(terminal.bytes_until(letter.encode()) * 1000)
        ends = time.monotonic() + 0.1
        while time.monotonic() < ends:
            terminal.settle(0.02, 0.02)
    return spent


if __name__ == "__main__":
    main()

"""A long session in the REPL, in a pseudo-terminal: counts from outside, and the time of a key's echo."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bench_terminal import LETTERS
from tests.bench.bench_turns import MODELS, spent
from tests.bench.long_life import Script, handles, prepared, resident
from tests.loopback import Loopback
from tests.terminal import Terminal

PROMPT_SECONDS = 900.0
"""The longest time that one prompt may take."""


@dataclass(frozen=True)
class Typed:
    """The state of the REPL after so many turns, all in prompts of the same length. Memory in bytes, time in seconds.

    `turn` and `key` are processor time since the count before; `echo` is the median time until a key's letter is shown.
    """

    turns: int
    resident: int
    turn: float
    key: float
    echo: float
    handles: int
    threads: int


def typed(wire: str, folder: Path, turns: int, every: int) -> Iterator[Typed]:
    """The counts of a REPL as they come: one for each prompt of so many turns."""
    program, script = prepared(folder, MODELS[wire]), Script(turns, every - 1)
    with Loopback(script, strict=False) as server:
        program.more = server.env
        with program.terminal("-m", MODELS[wire], columns=100, rows=30, forked=False) as terminal:
            terminal.until("yolo")
            for end in range(every, turns + 1, every):
                before, ends = spent(terminal.pid), time.monotonic() + PROMPT_SECONDS
                terminal.send(f"Prompt {end // every}: go on.\r")
                while script.asked < end and time.monotonic() < ends:
                    terminal.settle(0.1, 1.0)
                    server.asked.clear()
                terminal.until(f"Prompt {end} is answered")
                terminal.settle(0.5)
                turn = (spent(terminal.pid) - before) / every
                echo, key = _keys(terminal)
                alive = len(os.listdir(f"/proc/{terminal.pid}/task"))
                yield Typed(end, resident(terminal.pid), turn, key, echo, handles(terminal.pid), alive)


def _keys(terminal: Terminal) -> tuple[float, float]:
    """Seconds until the letter of a key is shown, the median, and the processor time of a key."""
    before, echoes = spent(terminal.pid), []
    for letter in LETTERS:
        began = time.monotonic()
        terminal.send(letter)
        terminal.bytes_until(letter.encode())
        echoes.append(time.monotonic() - began)
    key = (spent(terminal.pid) - before) / len(LETTERS)
    terminal.send("\x15")
    terminal.settle()
    return statistics.median(echoes), key

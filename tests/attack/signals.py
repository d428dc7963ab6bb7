"""Signals at random moments: the exit code is that of the signal, the result comes last, no process is left, the session is whole.

    python -m tests.attack.signals [count]

Each attack lets the program, headless or in a terminal, do something (start, stream, wait for a retry, run a command whose
children detach themselves), and sends SIGINT, SIGTERM or SIGHUP somewhere in it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentcli.sessions.store import Store
from tests.attack.kills import unusable
from tests.e2e.activities import CODES, PATIENCE, doing, gone, interrupt
from tests.e2e.program import Program
from tests.processes import fresh_mark, living

FRONTS = {
    "headless": ("command", "stubborn", "daemon", "background", "stream", "retry"),
    "plain": ("command", "stubborn", "stream", "retry", "approval", "shell", "nothing"),
    "full": ("command", "stubborn", "stream", "retry", "approval", "shell", "nothing"),
}
"""Forms of the program, each with its activities."""
LONGEST = 3.0
"""Seconds at most from the first sign of life to the signal."""
Way = tuple[str, str, signal.Signals]


@dataclass(frozen=True)
class Outcome:
    """What became of one attack: exit code, seconds from the last signal to the end, and what went wrong or an empty text."""

    code: int
    seconds: float
    wrong: str


def ways() -> Iterator[Way]:
    """Every activity with every signal, the forms in turn."""
    longest = max(map(len, FRONTS.values()))
    for number in CODES:
        for n in range(longest):
            yield from ((front, activities[n], number) for front, activities in FRONTS.items() if n < len(activities))


def attack(base: Path, way: Way, chance: random.Random) -> Outcome:
    """Send the signal, and look at what it left."""
    front, activity, number = way
    program, mark = Program(base), fresh_mark()
    pause = chance.uniform(0, chance.choice([0.1, 0.7, LONGEST]))
    if front == "headless":
        code, seconds, wrong = _headless(program, activity, number, mark, pause)
    else:
        code, seconds, wrong = _in_terminal(program, way, mark, pause)
    if not wrong and code != CODES[number]:
        wrong = f"exit code {code}"
    if not gone(mark):
        wrong = f"left running: {living(mark)}"
    return Outcome(code, seconds, wrong or unusable(Store(program.sessions)))


def _headless(
    program: Program, activity: str, number: signal.Signals, mark: str, pause: float
) -> tuple[int, float, str]:
    arguments, prompt = doing(program, activity, mark)
    with program.start("-p", prompt, "-o", "stream-json", *arguments) as running:
        assert running.stdout
        first = running.stdout.readline()
        time.sleep(pause)
        running.send_signal(number)
        sent = time.monotonic()
        out, err = running.communicate(timeout=PATIENCE + LONGEST)
        seconds = time.monotonic() - sent
    last = json.loads((first + out).splitlines()[-1])
    if (last["type"], last.get("exit_code")) != ("result", CODES[number]):
        return running.returncode, seconds, f"the last event is {last}"
    return running.returncode, seconds, "a traceback" if "Traceback" in err else ""


def _in_terminal(program: Program, way: Way, mark: str, pause: float) -> tuple[int, float, str]:
    front, activity, number = way
    arguments, prompt = doing(program, activity, mark)
    program.more = {"TERM": "dumb" if front == "plain" else "xterm-256color", "SHELL": "/bin/bash"}
    with program.terminal(*arguments, columns=200, forked=False) as t:
        t.until("lists the commands" if front == "plain" else "k/1")
        if prompt:
            t.send(f"{prompt}\r")
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            t.settle(min(left, 0.05), left)
        interrupt(t, number)
        sent = time.monotonic()
        code = t.wait(PATIENCE + LONGEST)
        return code, time.monotonic() - sent, "a traceback" if b"Traceback" in t.raw else ""


def main(count: int) -> int:
    """Send so many signals and print a table; the number of attacks after which something was wrong."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job ignores it, and so would the program
    every = [*ways()]
    outcomes: list[Outcome] = []
    print(f"{'front':9} {'activity':11} {'signal':8} {'exit':>4} {'seconds':>7}  wrong")
    for seed in range(count):
        way = every[seed % len(every)]
        with tempfile.TemporaryDirectory() as base:
            outcome = attack(Path(base), way, random.Random(seed))
        outcomes.append(outcome)
        row = f"{way[0]:9} {way[1]:11} {way[2].name:8} {outcome.code:4} {outcome.seconds:7.3f}"
        print(f"{row}  {outcome.wrong or 'nothing'}", flush=True)
    failed = sum(bool(outcome.wrong) for outcome in outcomes)
    took = sorted(outcome.seconds for outcome in outcomes)
    print(
        f"{count} signals, {failed} with something wrong; to the end {took[len(took) // 2]:.3f} s, at most {took[-1]:.3f}"
    )
    return failed


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3 * len([*ways()]))))

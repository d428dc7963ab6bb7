"""Signals at any moment, in a real terminal: its modes come back, the exit code is right, the session can be gone on with."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.activities import CODES, PATIENCE, is_resumable
from tests.e2e.program import Program
from tests.sampling import first
from tests.terminal import Terminal

PASTE_ON, PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


def modes(t: Terminal) -> list[Any]:
    """The terminal's attributes as the next program would find them."""
    return termios.tcgetattr(t.master)


def first_byte(t: Terminal) -> None:
    """Before this the interpreter itself is still starting, and nothing of the terminal has been touched."""
    t.bytes_until(PASTE_ON, 30)


def is_restored(t: Terminal, before: list[Any]) -> None:
    assert modes(t) == before
    assert t.raw.count(PASTE_OFF) >= 1
    assert t.raw.rindex(PASTE_OFF) > t.raw.rindex(PASTE_ON), "bracketed paste stays on"
    assert b"Traceback" not in t.raw, t.raw[-3000:].decode(errors="replace")


POINTS = [(seed, number) for seed in range(200) for number in [list(CODES)[seed % 3]]]


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        pytest.param(*point, marks=[pytest.mark.slow] if point[0] >= 6 else [pytest.mark.full] if point[0] >= 2 else [])
        for point in POINTS
    ],
)
def test_a_signal_at_any_point_ends_the_program_in_good_order(
    tmp_path: Path, seed: int, number: signal.Signals
) -> None:
    program = Program(tmp_path)
    chance = random.Random(seed)
    script = chance.choice(["script:long-reply", "script:steps:40", "script:echo"])
    with program.terminal("-m", script, *chance.choice([[], ["go on"]]), forked=False) as t:
        before = modes(t)
        first_byte(t)
        at = time.monotonic() + chance.choice([0.0, chance.uniform(0, 1), chance.uniform(0, 3)])
        if chance.random() < 0.5:
            t.send("hello\r")
        while (left := at - time.monotonic()) > 0:
            t.settle(min(left, 0.05), left)
        t.signal(number)
        if number == signal.SIGINT:
            t.settle(chance.uniform(0.05, 0.4), 0.4)
            with contextlib.suppress(ProcessLookupError):
                t.signal(number)
        code = t.wait(PATIENCE)
        # The second one may find the interpreter taking itself apart, which shells report as 130 just the same.
        assert code == CODES[number] or (number, code) == (signal.SIGINT, -2), t.raw[-3000:].decode(errors="replace")
        is_restored(t, before)
    is_resumable(program)


@pytest.mark.full
@pytest.mark.parametrize("prompt", [(), ("go on",)])
def test_sigquit_ends_the_program_at_once_and_restores_the_terminal(program: Program, prompt: tuple[str, ...]) -> None:
    with program.terminal("-m", "script:long-reply", *prompt, forked=False) as t:
        before = modes(t)
        t.until("k/1")
        t.settle(0.05, 0.5)
        t.signal(signal.SIGQUIT)
        assert t.wait(PATIENCE) == 131
        is_restored(t, before)
    is_resumable(program)


@pytest.mark.full
def test_a_window_that_is_closed_ends_the_program(program: Program) -> None:
    with program.terminal("-m", "script:long-reply", "go on", forked=False) as t:
        t.until("k/1")
        t.settle(0.05, 0.5)
        t.hang_up()
        assert t.wait(PATIENCE) == 129
    is_resumable(program)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_resizing_at_any_point_to_any_size_does_no_harm(program: Program, seed: int) -> None:
    chance = random.Random(seed)
    with program.terminal("-m", "script:long-reply", "go on", forked=False) as t:
        before = modes(t)
        first_byte(t)
        for _ in range(25):
            t.resize(chance.choice([1, 2, 3, 10, 40, 80, 132, 300]), chance.choice([1, 2, 3, 10, 24, 60]))
            t.settle(0.02, chance.uniform(0, 0.2))
        t.resize(80, 24)
        t.settle(0.3, 20)
        t.send("hello\r")
        t.settle(0.3, 20)
        t.send("\x04")
        assert t.wait(PATIENCE) == 0
        is_restored(t, before)
    is_resumable(program)


@contextlib.contextmanager
def shell(program: Program) -> Iterator[Terminal]:
    """An interactive bash with job control; the prompt is `ready>`."""
    env = {**program.env, "PS1": "ready> ", "HISTFILE": "", "BASH_SILENCE_DEPRECATION_WARNING": "1"}
    with Terminal(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=str(program.work)) as t:
        t.until("ready>")
        yield t


def child(t: Terminal) -> int:
    """The program that bash has in the foreground."""
    return os.tcgetpgrp(t.master)


@pytest.mark.parametrize("how", first(1, ["key", "signal", "stop"]))
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_a_suspended_program_gives_the_terminal_back_and_goes_on(program: Program, seed: int, how: str) -> None:
    chance = random.Random(seed)
    with shell(program) as t:
        at_prompt = modes(t)
        t.send(f"{sys.executable} -m agentcli -m script:echo\r", until="k/1")
        t.settle(0.1)
        t.send("half a prompt", until="half a prompt")
        at_work = modes(t)
        for _ in range(2):
            t.settle(chance.uniform(0, 0.3), 1)
            mark = len(t.raw)
            if how == "key":
                t.send("\x1a")
            else:
                os.kill(child(t), signal.SIGSTOP if how == "stop" else signal.SIGTSTP)
            # Bash has its own modes before it has printed its prompt.
            while b"ready> " not in t.raw[mark:].partition(b"Stopped")[2]:
                t.settle(0.2)
            assert modes(t) == at_prompt
            assert how == "stop" or t.raw[mark:].count(PASTE_OFF) >= 1  # a program learns of SIGSTOP only afterwards
            t.send("fg\r")
            t.bytes_until(b"half a prompt")
            t.settle(0.1)
            assert modes(t) == at_work
        t.send(" sent\r")
        t.settle(0.3, 5)
        t.send("\x04")
        t.bytes_until(b"ready> ")
        t.settle()
        assert modes(t) == at_prompt
        assert b"Traceback" not in t.raw
    said = [r["parts"][-1]["text"] for r in program.records() if r["kind"] == "message"]
    assert said == ["half a prompt sent"] * 2

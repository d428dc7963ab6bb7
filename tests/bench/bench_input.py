"""What a key costs among 100,000 files, and a paste of 10 MB: `python -m tests.bench.bench_input`.

The files lie in a repository that is made for it. The paste is cut into pieces of odd sizes, so that its marks are cut anywhere.
"""

from __future__ import annotations

import os
import pty
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.frontends.terminal.input.completion import SHOWN, Files
from agentcli.frontends.terminal.input.fuzzy import Listing
from agentcli.frontends.terminal.input.keyboard import Keyboard
from tests.e2e.program import Program
from tests.terminal import Terminal

FILES = 100_000
PASTE = 10_000_000
WORDS = (
    "core", "agent", "context", "provider", "session", "terminal", "screen", "draw", "paint", "view", "model", "tool", "test", "record", "history", "config",
)  # fmt: skip
QUERIES = (
    "f", "view", "srcui", "coreagentcontextproviderrecord.py", "screen/draw/test_config", "eeeeeeeeeeeeeeee", "trmnlscrn7",
    "theme_main99.go", "r/m/a.py", "aaaaaaaaaaaaaaaaz", "test_test99.py", "histrecdrawpntviewmdl",
)  # fmt: skip


def main() -> None:
    """Every figure beside its limit."""
    with tempfile.TemporaryDirectory() as name:
        program = Program(Path(name))
        paths = make(program.work)
        print(f"the machine's load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        print(f"finding among {len(paths):,} paths (limit 50 ms a key): {spread(find(paths, time.perf_counter))}")
        print(f"the same in processor time, whatever else the machine does: {spread(find(paths, time.thread_time))}")
        print(f"waiting of the main thread while they are listed: {spread(stalls(program.work))}")
        print(f"keys echoed in the program, with the menu: {spread(echoes(program))}")
        print(f"{PASTE // 1_000_000} MB pasted, read in pieces of odd sizes (limit 1 s): {spread(pastes())}")
        print(f"the same into the program, until its label is on the screen: {spread(pasted(program))}")
        print(f"as many bytes into a program that only reads them, the least that can be: {spread(only_read())}")


def make(root: Path) -> list[str]:
    """A repository of many files whose names share their words."""
    chance = random.Random(1)
    paths = []
    for folder in range(FILES // 20):
        inside = "/".join(
            chance.choice(WORDS) + chance.choice(("", "s", str(folder % 70))) for _ in range(chance.randint(1, 5))
        )
        (root / inside).mkdir(parents=True, exist_ok=True)
        paths += [f"{inside}/{chance.choice(WORDS)}_{chance.choice(WORDS)}{folder}_{n}.py" for n in range(20)]
    for path in paths:
        (root / path).touch()
    subprocess.run("git init -q . && git add -A", shell=True, cwd=root, check=True)
    return paths


def find(paths: Sequence[str], clock: Callable[[], float]) -> list[float]:
    """Milliseconds for each letter of the queries, as they are typed one after another."""
    listing, spent = Listing(paths), []
    for query in QUERIES:
        for length in range(1, len(query) + 1):
            began = clock()
            listing.find(query[:length], SHOWN)
            spent.append((clock() - began) * 1000)
    return spent


def stalls(root: Path) -> list[float]:
    """Milliseconds more than were asked for, between two looks of a thread that only waits."""
    files, spent = Files(root), []
    files.refresh()
    while not files.find("").whole:
        began = time.perf_counter()
        time.sleep(0.002)
        spent.append((time.perf_counter() - began) * 1000 - 2)
    return spent


def echoes(program: Program) -> list[float]:
    """Milliseconds from each letter after an @ to its bytes on the screen."""
    spent = []
    with start(program) as terminal:
        terminal.settle(3.0)
        for query in QUERIES:
            terminal.send("see @")
            terminal.settle(0.1, 1)
            for letter in query:
                began, place = time.perf_counter(), len(terminal.raw)
                terminal.send(letter)
                terminal.bytes_until(b"\x1b[?2026l")
                assert len(terminal.raw) > place
                spent.append((time.perf_counter() - began) * 1000)
                terminal.settle(0.06, 0.3)
            terminal.send("\x1b")
            terminal.settle(0.1, 1)
            terminal.send("\x15")
            terminal.settle(0.1, 1)
    return spent


def pastes() -> list[float]:
    """Milliseconds to read a paste, for several ways of cutting it."""
    data = b"\x1b[200~" + b"some words on a line\n" * (PASTE // 21) + b"\x1b[201~"
    spent = []
    _, slave = pty.openpty()
    for size in (1_023, 4_096, 65_535, 65_536):
        for first in range(1, 8):
            pieces = [data[:first], *(data[n : n + size] for n in range(first, len(data), size))]
            with os.fdopen(os.dup(slave)) as stdin:
                keyboard = Keyboard(stdin)
                began = time.perf_counter()
                keys = [key for piece in pieces for key in keyboard.keys_of(piece)]
                spent.append((time.perf_counter() - began) * 1000)
            assert [len(key.data) for key in keys] == [len(data) - 12]
    return spent


def pasted(program: Program) -> list[float]:
    """Milliseconds until the paste stands on the screen as a label. The terminal takes it as fast as the program reads it."""
    spent = []
    text = "some words on a line\n" * (PASTE // 21)
    with start(program) as terminal:
        terminal.settle(1.0)
        for _ in range(3):
            place = len(terminal.raw)
            began = time.perf_counter()
            terminal.send(f"\x1b[200~{text}\x1b[201~")
            while b"[Pasted text" not in terminal.raw[place:]:
                terminal.settle(0.0, 0.01)
            spent.append((time.perf_counter() - began) * 1000)
            terminal.send("\x15")
            terminal.settle(0.2, 1)
    return spent


def only_read() -> list[float]:
    """Milliseconds that the terminal itself takes to hand over so many bytes."""
    code = "import os,tty\ntty.setraw(0)\nprint('go',flush=True)\nn=0\nwhile n<%d: n+=len(os.read(0,65536))\nprint('done',flush=True)"
    spent = []
    for _ in range(3):
        with Terminal([sys.executable, "-c", code % PASTE]) as terminal:
            terminal.until("go")
            began = time.perf_counter()
            terminal.send("x" * PASTE, until="done")
            spent.append((time.perf_counter() - began) * 1000)
    return spent


def start(program: Program) -> Terminal:
    """The program in that repository, with a model that says nothing."""
    return program.terminal("--model", "script:echo", forked=False)


def spread(spent: Sequence[float]) -> str:
    """Median, 99th percentile and maximum."""
    found = sorted(spent)
    return f"p50 {found[len(found) // 2]:.1f} p99 {found[int(len(found) * 0.99)]:.1f} max {found[-1]:.1f} ms of {len(found)}"


if __name__ == "__main__":
    main()

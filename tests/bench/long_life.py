"""A long session in one process: prompts, calls of many tools and compactions against the loopback server, counted from inside.

`python -m tests.bench.long_life ORDERS` is that process: it prints a line of JSON for each count. See `bench_life`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall
from agentcli.providers.scripted.model import Reply, call, say
from tests.bench.bench_turns import MODELS, fixed_loop
from tests.e2e.program import Program
from tests.loopback import Loopback

WINDOW = 60_000
"""Tokens of the window: small, so that a compaction comes every few dozen turns. A third is kept for the reply."""
CALLS = 5
"""Turns with a call in one prompt; then comes the answer."""
FILES = 40
SITES = 25
"""Lines of code that are printed."""
WORKERS = min(32, (os.cpu_count() or 1) + 4)
"""Threads that an event loop has at most for what would block it."""


@dataclass(frozen=True)
class Orders:
    """The life of one process: `turns` replies of this model, counted every so many. `traced`: with the sizes of all Python objects."""

    folder: str
    model: str
    turns: int
    every: int
    traced: bool = False
    sites: bool = False
    """Print the lines of code whose objects have become more since a fifth of the life."""


@dataclass(frozen=True)
class Count:
    """The state of the process after so many turns, garbage collected. Memory in bytes, time in seconds.

    `most` is the largest traced memory since the count before, 0 where nothing is traced; so is `blocks`, the number of allocated
    blocks at the ends of prompts. `turn` and `loop` are processor time: of a turn since then, and of a fixed loop.
    `threads` are those besides timers and the workers of the event loop, of which there are never more than `WORKERS`. `kinds`
    counts the live objects of the program's own classes.
    """

    turns: int
    compactions: int
    resident: int
    most: int
    blocks: int
    turn: float
    loop: float
    handles: int
    threads: int
    tasks: int
    kinds: Mapping[str, int] = field(default_factory=dict)


def counted(wire: str, folder: Path, turns: int, every: int, **more: bool) -> Iterator[Count]:
    """The counts of a life in a process of its own, as they come."""
    program = prepared(folder, MODELS[wire])
    with Loopback(Script(turns), strict=False) as server:
        program.more = {**server.env, "PYTHONPATH": str(Path(__file__).parents[2])}
        orders = Orders(str(program.work), MODELS[wire], turns, every, **more)
        command = [sys.executable, "-m", "tests.bench.long_life", json.dumps(asdict(orders))]
        with subprocess.Popen(command, cwd=program.work, env=program.env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    yield Count(**json.loads(line))
                    server.asked.clear()
                else:
                    print(line, end="")
        assert process.returncode == 0


def prepared(folder: Path, model: str, window: int = WINDOW) -> Program:
    """The program in this folder, with files to work on and a small window."""
    program = Program(folder)
    program.config(f'mode = "yolo"\nsandbox = "off"\n[models."{model}"]\nwindow = {window}\n')
    for n in range(FILES):
        (program.work / f"f{n}.txt").write_text("".join(f"{n} line {line} of a file\n" for line in range(60)))
    return program


class Script:
    """The model: each prompt is some calls, of one tool after the other, and an answer."""

    def __init__(self, turns: int, calls: int = CALLS) -> None:
        self._turns, self._calls = turns, calls
        self.asked = 0
        """Requests so far."""
        self._edits: Counter[int] = Counter()

    def __call__(self, _: Any) -> Reply:
        """The next reply."""
        self.asked += 1
        number = self.asked
        if number % (self._calls + 1) == 0 or number >= self._turns:
            return say(f"Prompt {number} is answered: {'done and checked. ' * 10}")
        return say(f"Step {number}.", self._next(number), thinking="Which file is next? " * 5)

    def _next(self, number: int) -> ToolCall:
        file = number % FILES
        match number % 8:
            case 1 | 2:
                return call("read", file_path=f"f{file}.txt")
            case 3:
                return call("grep", pattern=f"line {number % 60} ")
            case 4:
                return call("write", file_path=f"out/{file}.txt", content=f"written at {number}\n" * 30)
            case 5:
                return call("bash", command=f"seq {number} {number + (20_000 if number % 3 == 0 else 60)}")
            case 6:
                return call("todo", todos=[{"content": f"task {number}", "status": "pending", "active_form": "doing"}])
            case 7:
                return call("glob", pattern=f"f{number % 10}*.txt")
            case _:
                return self._edit(number % FILES)

    def _edit(self, file: int) -> ToolCall:
        version, self._edits[file] = self._edits[file], self._edits[file] + 1
        was = f"version {version} of" if version else f"{file} line 1 of"
        return call("edit", file_path=f"f{file}.txt", old_string=was, new_string=f"version {version + 1} of")


class Life:
    """Counts of this process, taken while it lives."""

    def __init__(self) -> None:
        self._spent, self._turns = time.process_time(), 0
        self._blocks = 0
        self.compactions = 0

    def note(self) -> None:
        """Take what is cheap to take, at the end of a prompt."""
        self._blocks = max(self._blocks, sys.getallocatedblocks())

    def count(self, turns: int) -> Count:
        """The state now."""
        turn = (time.process_time() - self._spent) / max(1, turns - self._turns)
        gc.collect()
        most = tracemalloc.get_traced_memory()[1] if tracemalloc.is_tracing() else 0
        taken = Count(
            turns,
            self.compactions,
            resident(os.getpid()),
            most,
            self._blocks,
            turn,
            fixed_loop(),
            handles(os.getpid()),
            threads(),
            len(asyncio.all_tasks()),
            kinds(),
        )
        self._blocks = 0
        if tracemalloc.is_tracing():
            tracemalloc.reset_peak()
        self._spent, self._turns = time.process_time(), turns
        return taken


async def live(orders: Orders, report: Callable[[Count], None], env: Mapping[str, str] = os.environ) -> None:
    """A whole life, in this process."""
    import agentcli

    life, turns, prompts = Life(), 0, 0
    async with agentcli.Session(cwd=orders.folder, model=orders.model, env=env) as session:
        due, before = orders.every, None
        while turns < orders.turns:
            prompts += 1
            text = f"Prompt {prompts}: go on with file {prompts % FILES}, and say what you did."
            async for event in session.say(text):
                if isinstance(event, agentcli.CompactionEvent):
                    life.compactions += event.status == "compressed"
                if isinstance(event, agentcli.Result):
                    assert event.status == "success", event
                    turns += event.turns
            life.note()
            if orders.sites and before is None and turns >= orders.turns // 5:
                before = _snapshot()
            if turns >= due:
                due += orders.every
                report(life.count(turns))
        if before is not None:
            _print_growth(before)


def resident(pid: int) -> int:
    """Resident memory of a process in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def handles(pid: int) -> int:
    """Open file handles of a process."""
    return len(os.listdir(f"/proc/{pid}/fd")) - (pid == os.getpid())


def threads() -> int:
    """Threads of this process besides timers and the workers of the event loop."""
    every = threading.enumerate()
    workers = [each for each in every if each.name.startswith("asyncio_")]
    assert len(workers) <= WORKERS
    return len([each for each in every if each not in workers and not isinstance(each, threading.Timer)])


def kinds() -> Mapping[str, int]:
    """The number of live objects of each of the program's own classes."""
    own = (type(each) for each in gc.get_objects() if str(type(each).__module__).startswith("agentcli"))
    return dict(Counter(f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}" for kind in own))


def _snapshot() -> tracemalloc.Snapshot:
    gc.collect()
    return tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])


def _print_growth(before: tracemalloc.Snapshot) -> None:
    for grown in _snapshot().compare_to(before, "lineno")[:SITES]:
        print(f"{grown.size_diff / 1000:+10.1f} kB {grown.count_diff:+7}  {grown.traceback}")


def main() -> None:
    """Live as ordered."""
    orders = Orders(**json.loads(sys.argv[1]))
    if orders.traced or orders.sites:
        tracemalloc.start()
    asyncio.run(live(orders, lambda count: print(json.dumps(asdict(count)), flush=True)))


if __name__ == "__main__":
    main()

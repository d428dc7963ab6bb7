"""What the tools cost, as ratios within one run: `python -m tests.bench.bench_tools`.

A command that prints a gigabyte against `cat` doing the same, the memory that takes, how long a small command takes against
`bash -c`, how quickly an interrupted tree of processes is gone, and both searches.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agentcli.core.tool import ToolOutput
from agentcli.tools.lib.search import Wanted, files, lines, ripgrep
from agentcli.tools.registry import run, tools
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in tools()}
BLOCK = b"".join(b"line %07d of an output that is far too long\n" % n for n in range(20_000))


def big_output(size: int = 1_000_000_000) -> dict[str, float]:
    """Print a file of `size` bytes through the bash tool, and with `cat` into a pipe that is read to its end. Seconds and MB."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "big"
        with file.open("wb") as stream:
            for _ in range(size // len(BLOCK) + 1):
                stream.write(BLOCK)
            os.fsync(stream.fileno())  # or else the disk, still busy with it, would slow down whoever writes next
        cats, ours = [], []
        before = _peak()
        for n in range(7):
            started = time.perf_counter()
            subprocess.run(f"cat {file} | cat > /dev/null", shell=True, check=True)
            cats.append(time.perf_counter() - started)
            started = time.perf_counter()
            outcome = call(_bench(Path(folder)), "bash", f"big{n}", command=f"cat {file}", timeout=600_000)
            ours.append(time.perf_counter() - started)
            assert outcome.metadata["bytes"] == file.stat().st_size
        cat, mine = sorted(cats)[3], sorted(ours)[3]
        return {"cat": cat, "bash tool": mine, "ratio": mine / cat, "memory": _peak() - before}


def small_command(times: int = 40) -> dict[str, float]:
    """The median of `true` through the tool and through `bash -c`, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        work = _bench(Path(folder))

        async def ours() -> list[float]:
            taken = []
            for n in range(times + 1):
                started = time.perf_counter()
                await run(TOOLS["bash"], work, f"c{n}", {"command": "true"})
                taken.append(time.perf_counter() - started)
            return taken

        mine = asyncio.run(ours())
        bare = []
        for _ in range(times):
            started = time.perf_counter()
            subprocess.run(["bash", "--noprofile", "--norc", "-c", "true"], check=True)
            bare.append(time.perf_counter() - started)
    middle = sorted(mine[1:])[times // 2]
    return {"first": mine[0] * 1e3, "tool": middle * 1e3, "bash -c": sorted(bare)[times // 2] * 1e3}


def interrupted(stubborn: bool) -> float:
    """Seconds from the interrupt until the result is there and no process is left."""
    with tempfile.TemporaryDirectory() as folder:
        work = _bench(Path(folder))
        deaf = "trap '' TERM INT HUP; " if stubborn else ""
        command = f"{deaf}echo begun; setsid sleep 1000 & (setsid env -i setsid sleep 1000 &); sleep 1000"

        async def story() -> float:
            task = asyncio.create_task(run(TOOLS["bash"], work, "c", {"command": command}))
            while not work.shown:  # noqa: ASYNC110 (the command is what we wait for, and it sets no event)
                await asyncio.sleep(0.01)
            started = time.perf_counter()
            task.cancel()
            await task
            return time.perf_counter() - started

        return asyncio.run(story())


def searches(base: Path) -> dict[str, float]:
    """Seconds to list a tree and to search it, with ripgrep and without."""
    taken = {}
    for name, rg in (("ripgrep", ripgrep()), ("python", "")):
        started = time.perf_counter()
        found = files(base, "", rg)
        taken[f"{name} list"] = time.perf_counter() - started
        started = time.perf_counter()
        taken["matches"] = sum(line.matches for line in lines(base, found, Wanted(r"def \w+_exit"), rg))
        taken[f"{name} search"] = time.perf_counter() - started
    return {"files": len(found), **taken}


def call(work: Bench, name: str, call_id: str, **given: Any) -> ToolOutput:
    """Run one tool."""
    return asyncio.run(run(TOOLS[name], work, call_id, given))


def _bench(folder: Path) -> Bench:
    return Bench(folder, folder / "outputs")


def _peak() -> float:
    """The most memory this process has had so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


if __name__ == "__main__":
    report = {
        "one gigabyte": big_output(),
        "small command, ms": small_command(),
        "interrupt, s": {"ordinary": interrupted(False), "deaf to TERM": interrupted(True)},
        "searches, s": searches(Path(os.__file__).parent),
    }
    print(json.dumps(report, indent=2, default=lambda value: round(value, 4)))

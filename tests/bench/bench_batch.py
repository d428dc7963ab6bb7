"""`python -m tests.bench.bench_batch [N]`: seconds of `batch status`, `report`, `compare` and `bench show` for N finished tasks (1,000).

The batch is written down, with an event stream of twenty calls for each task, not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentcli.extras.batch.ledger import Ledger, Row

CALLS = 20


def made(out: Path, count: int, failing: int) -> Path:
    """A batch in which each task whose number divides by `failing` has failed."""
    out.mkdir()
    tasks = {}
    ledger = Ledger(out)
    for number in range(count):
        id = f"t{number:04}"
        tasks[id] = {"digest": "", "repo": str(out), "base": "", "run": {"of": id, "variant": "m", "repeat": 1}}
        folder = out / "tasks" / id / "1-x"
        folder.mkdir(parents=True)
        call = {"type": "tool_call", "name": "bash", "input": {"command": f"echo {number}"}}
        end = {"type": "tool_result", "status": "success", "output": "x" * 400}
        (folder / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in (call, end) * CALLS))
        ledger.write(Row(id, 1, "x", "running"))
        state = "passed" if number % failing else "failed"
        ledger.write(Row(id, 1, "x", state, session="gone", cost=0.01, seconds=3.0, turns=CALLS, usage={"input": 900}))  # type: ignore[arg-type]
    note = {"version": 1, "name": out.name, "options": {"cap": None}, "tasks": tasks}
    (out / "batch.json").write_text(json.dumps(note))
    return out


def main(count: int) -> None:
    """Print wall and processor time of each command."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (made(Path(folder, name), count, failing) for name, failing in (("a", 10), ("b", 7)))
        env = {**os.environ, "HOME": folder}
        for words in (
            ["batch", "status", first],
            ["batch", "report", first],
            ["batch", "compare", first, second],
            ["bench", "show", first],
        ):
            before, began = os.times(), time.monotonic()
            command = [sys.executable, "-m", "agentcli", *map(str, words)]
            subprocess.run(command, check=True, capture_output=True, env=env)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            print(f"{' '.join(words[:2]):14} {count} tasks: {time.monotonic() - began:5.2f} s, processor {used:5.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)

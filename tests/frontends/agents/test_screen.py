"""Ten sessions side by side for ten minutes, answered from `agentcli agents` by a person with two keys."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import Program
from tests.frontends.agents.test_running import listed
from tests.loopback import Asked, Loopback

SESSIONS, SECONDS = 10, float(os.environ.get("SIDE_BY_SIDE_SECONDS", "600"))
MEMORY = 60_000
"""Kilobytes that a session may take."""


def memory(pid: int) -> tuple[int, int]:
    """Return a process's resident memory in kB, and its share of it."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return tuple(int(found[1]) for name in ("Rss", "Pss") if (found := re.search(rf"^{name}: +(\d+)", text, re.M)))  # type: ignore[return-value]


class Model:
    """Asks for one command after another until the time is over; each command appends its number to a file."""

    def __init__(self) -> None:
        self.ends = time.monotonic() + SECONDS
        self.asked: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> Reply:
        texts = re.findall(r"task-\d\d", json.dumps(asked.turns[0]))
        task = texts[0] if texts else "none"
        if time.monotonic() > self.ends:
            return say("All is done.", delay=1.0)
        self.asked[task] += 1
        number = self.asked[task]
        return say("Next.", call("bash", f"{task}-{number}", command=f"echo {number} >> {task}.txt"), delay=2.0)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 600)
def test_ten_sessions_are_answered_from_one_screen(tmp_path: Path) -> None:
    model = Model()
    with Loopback(model, keep=10) as server:
        program = Program(tmp_path, server.env)
        for number in range(SESSIONS):
            ran = program.run("--bg", f"Work on task-{number:02}", "--mode", "ask", "-m", "anthropic/claude-sonnet-4-5")
            assert ran.code == 0, ran.err
        pids = {row["title"].split()[-1]: row["pid"] for row in listed(program)}
        sizes: list[tuple[int, int]] = []
        try:
            answered = play(program, model, pids, sizes)
            rows = listed(program)
            assert {row["state"] for row in rows} == {"done"}, [(row["title"], row["state"]) for row in rows]
        finally:
            for row in listed(program):
                if row["pid"]:
                    os.kill(row["pid"], signal.SIGKILL)
    for task, number in model.asked.items():
        lines = (program.work / f"{task}.txt").read_text().split()
        expected = [*map(str, range(1, number + 1))]
        lost = [line for line in expected if line not in lines]
        assert len(lines) == len(set(lines)), f"{task}: a command ran twice"
        assert len(lost) <= (2 if task == KILLED else 1), f"{task}: {lost} did not run"
    rss, pss = (max(each) for each in zip(*sizes, strict=True))
    print(
        f"answered {answered}, commands {sum(model.asked.values())}, at most {rss} kB resident, {pss} kB of its own share"
    )
    assert pss <= MEMORY


KILLED = "task-03"
WAIT = 120.0
"""Seconds after the time is over in which all sessions must be done."""


def play(program: Program, model: Model, pids: dict[str, int], sizes: list[tuple[int, int]]) -> int:
    """Answer each question with its first choice until all is done; return how many were answered.

    Half-way a session and the screen itself are killed. `sizes` gets the memory of each session at the end.
    """
    answered, half = 0, time.monotonic() + SECONDS / 2
    while half or not sizes or time.monotonic() < model.ends + WAIT:
        with program.terminal("agents", rows=40) as t:
            t.until("agentcli agents")
            while time.monotonic() < model.ends + WAIT:
                t.settle(0.5)
                shown = "\n".join(t.screen())
                if time.monotonic() > model.ends and not sizes:
                    sizes += [memory(row["pid"]) for row in listed(program) if row["pid"]]
                if sizes and "NEEDS YOU" not in shown and "WORKS" not in shown:
                    t.send("q", at_once=True)
                    return answered
                if "NEEDS YOU" in shown:
                    t.send("g", at_once=True)
                    t.settle(0.5)
                    t.send("1", at_once=True)
                    answered += 1
                if half and time.monotonic() > half:
                    half = 0.0
                    os.kill(pids[KILLED], signal.SIGKILL)
                    t.until("killed", seconds=60)
                    t.send("G", at_once=True)
                    t.until("r resumes")
                    t.send("r", at_once=True)
                    t.until("It continues.", seconds=60)
                    t.signal(signal.SIGKILL)  # the screen itself
                    break
    return answered

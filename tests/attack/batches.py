"""Batches whose driver and agents are killed at random: one result a task, nothing paid twice but what was under way, the cap kept.

    python -m tests.attack.batches [tasks] [kills]

Tasks of three requests run through a server on this machine with eight workers. Then some of the results are merged, a cap is
run into, and a provider that takes so many requests a minute is asked by eight workers: 120, so that it does not take all day.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcli.extras.batch.ledger import FINAL, Row, fold, rows
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.store import Store
from tests.e2e.program import Program
from tests.extras.batch.repository import program
from tests.loopback import Asked, Loopback, Refuse

WORKERS = 8
STEPS = 3
"""Requests that a task needs."""
CLASHING = 10
"""Tasks that change the same line."""
MODEL = "anthropic/claude-haiku-4-5"
GRACE = 1.5
"""Seconds around a request within which it counts as under way: an agent that ends may still send one, and a reply is not on the disk at once."""


@dataclass
class Provider:
    """The model, by a function of the request. It knows when each step of each task was asked for and answered."""

    delay: float = 0.3
    bucket: Bucket | None = None
    asked: list[tuple[str, int, float, Asked]] = field(default_factory=list)
    refused: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked) -> Reply | Refuse:
        """The reply to a request: a change of a file of its own, another look, the end."""
        messages = asked.json["messages"]
        found = re.search(r"task (t\d+)", json.dumps(messages[0]))
        assert found, messages[0]
        id, step = found[1], sum(message["role"] == "assistant" for message in messages)
        with self._lock:
            if self.bucket is not None and (wait := self.bucket.wait()):
                self.refused += 1
                return Refuse(429, "rate_limit_error", headers={"retry-after": str(int(wait) + 1)})
            self.asked.append((id, step, time.time(), asked))
        change = f"echo {id} > {id}.txt" + (f"; echo {id} > shared.txt" if int(id[1:]) < CLASHING else "")
        results = json.dumps([message["content"] for message in messages if message["role"] == "user"])
        # A call that was interrupted is made again.
        if "has changed" not in results:
            reply = say("I change it.", call("bash", f"{id}-{step}", command=f"{change}; echo it has change''d"))
        elif "has looked" not in results:
            reply = say("I look at it.", call("bash", f"{id}-{step}", command=f"cat {id}.txt; echo it has look''ed"))
        else:
            reply = say(f"{id} is done.")
        return Reply(reply.parts, delay=self.delay)

    def repeated(self, kills: Sequence[float]) -> list[tuple[str, int, float]]:
        """Steps that were asked for again though nothing was killed while they were under way, with the seconds to the nearest kill."""
        seen: dict[tuple[str, int], list[float]] = {}
        for id, step, at, _ in self.asked:
            seen.setdefault((id, step), []).append(at)
        wrong = []
        for key, times in seen.items():
            for at in times[:-1]:
                if not any(at - GRACE <= kill <= at + self.delay + GRACE for kill in kills):
                    wrong.append((*key, min((kill - at for kill in kills), key=abs)))
        return wrong


class Bucket:
    """A provider's limit: so many requests a minute."""

    def __init__(self, a_minute: float) -> None:
        self._rate, self._size = a_minute / 60, max(1.0, a_minute / 10)
        self._tokens, self._at = self._size, time.monotonic()

    def wait(self) -> float:
        """Take a token: 0, or the seconds until there is one."""
        now = time.monotonic()
        self._tokens, self._at = min(self._size, self._tokens + (now - self._at) * self._rate), now
        if self._tokens < 1:
            return (1 - self._tokens) / self._rate
        self._tokens -= 1
        return 0.0


@dataclass
class Target:
    """A batch of tasks, its program and its provider."""

    program: Program
    provider: Provider
    ids: list[str]
    workers: int = WORKERS
    kills: list[float] = field(default_factory=list)
    drivers: int = 0
    agents: int = 0

    @property
    def out(self) -> Path:
        """The folder of the batch."""
        return self.program.work / "out"

    def arguments(self, *more: str) -> tuple[str, ...]:
        """The command line of the batch."""
        return ("batch", "run", "tasks.jsonl", "out", "-m", MODEL, "--unboxed", f"-j{self.workers}", *more)

    def run(self, *more: str, seconds: float = 3_000) -> tuple[int, str]:
        """Run the batch to its end; the exit code and the output."""
        process = self.program.start(*self.arguments(*more), stderr=subprocess.STDOUT)
        out, _ = process.communicate(timeout=seconds)
        assert "Traceback" not in out, out
        return process.returncode, out

    def killed(self, count: int, chance: random.Random, *more: str, pause: float = 12.0) -> tuple[int, str]:
        """Run the batch, killing its driver or an agent so many times at random moments."""
        process = self.program.start(*self.arguments(*more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(self.kills) < count:
            time.sleep(1.0 + chance.random() * pause)
            if process.poll() is not None:
                break
            agents = self.living()
            if chance.random() < 0.5 or not agents:
                process.kill()
                process.wait()
                self.drivers += 1
            else:
                os.kill(chance.choice(agents), signal.SIGKILL)
                self.agents += 1
            self.kills.append(time.time())
            if process.poll() is not None:
                process = self.program.start(
                    *self.arguments(*more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
        process.wait()
        return self.run(*more)

    def living(self) -> list[int]:
        """The agents at work."""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                home = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            mine = f"HOME={self.program.base}\0".encode() in home
            if mine and b"-p" in words and (b"--session-id" in words or b"resume" in words):
                found.append(pid)
        return found

    def wrong(self) -> list[str]:
        """Everything that is not as it should be."""
        found = [*rows(self.out)]
        states = fold(found)
        finals = Counter((row.id, row.attempt) for row in found if row.state in FINAL)
        stored = {info.id: info for info in Store(self.program.sessions).list()}
        known = sum(state.cost for state in states.values())
        paid = sum(stored[row.session].cost or 0.0 for row in _newest(found) if row.session in stored)
        problems = [f"{id} is {states[id].state if id in states else 'new'}" for id in self.ids if not _is(states, id)]
        problems += [f"{id} is final {count} times" for (id, _), count in finals.items() if count > 1]
        problems += [
            f"{id} was paid twice at step {step}, {away:.1f} s from a kill"
            for id, step, away in self.provider.repeated(self.kills)
        ]
        if abs(known - paid) > 0.001 * max(known, paid):
            problems.append(f"the ledger knows of ${known:.4f}, the sessions of ${paid:.4f}")
        if left := self.living():
            problems.append(f"{len(left)} agents are left")
        return problems


def _is(states: Any, id: str) -> bool:
    return id in states and states[id].state == "passed"


def _newest(found: Sequence[Row]) -> Iterator[Row]:
    """One row of each session."""
    yield from {row.session: row for row in found if row.session}.values()


@contextmanager
def target(count: int, delay: float = 0.3, a_minute: float = 0.0, workers: int = WORKERS) -> Iterator[Target]:
    """A batch of so many tasks with a provider that takes so many requests a minute, 0 for any number."""
    provider = Provider(delay, Bucket(a_minute) if a_minute else None)
    base = Path(tempfile.mkdtemp(prefix="batch-"))
    ids = [f"t{number:03}" for number in range(count)]
    try:
        with Loopback(provider, strict=False) as server:
            found = program(base, ids)
            found.more = {**found.more, **server.env}
            yield Target(found, provider, ids, workers)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def merged(found: Target, count: int) -> str:
    """Merge the first results; what came of it."""
    ran = found.program.run("batch", "merge", "out", *found.ids[:count], seconds=300)
    conflicts = [line for line in ran.out.splitlines() if "conflicts in shared.txt" in line]
    clashing = min(count, CLASHING, len(found.ids))
    assert len(conflicts) == clashing - 1, ran.out
    done = count - clashing + 1
    assert f"{done} task{'s' * (done != 1)} merged into agentcli/out" in ran.out, ran.out
    return f"{count} results merged, {len(conflicts)} conflicts named"


def capped(count: int, part: float) -> str:
    """Run into a cap that pays for a part of the tasks; how far it was passed."""
    with target(1, delay=0.0) as one:
        one.run()
        cost = sum(state.cost for state in fold(rows(one.out)).values())
    cap = cost * count * part
    with target(count, delay=0.05) as found:
        code, out = found.run("--max-cost-total", f"{cap:.6f}", "--max-cost", f"{cost * 1.2:.6f}")
        spent = sum(state.cost for state in fold(rows(found.out)).values())
        assert code == 53, out
        assert cap * 0.4 < spent <= cap + WORKERS * cost / STEPS, (spent, cap)
    return f"cap ${cap:.4f}, spent ${spent:.4f}, exit code {code}"


def refusals(count: int, a_minute: float) -> tuple[float, str]:
    """Ask a provider that takes so many requests a minute; the share that it refused."""
    with target(count, delay=0.0, a_minute=a_minute) as found:
        began = time.monotonic()
        code, out = found.run("--warm")
        sent = len(found.provider.asked) + found.provider.refused
        assert code == 0, out
        share = found.provider.refused / sent
        took = time.monotonic() - began
    return share, f"{sent} requests in {took:.0f} s, {found.provider.refused} refused ({share:.1%})"


def main(count: int, kills: int) -> int:
    """Run everything and print the figures; the number of problems."""
    with target(count) as found:
        began = time.monotonic()
        code, out = found.killed(kills, random.Random(17), pause=count / kills)
        problems = found.wrong()
        requests = len(found.provider.asked)
        print(
            f"{count} tasks, {requests} requests for {count * STEPS} steps, {found.drivers} drivers and {found.agents} agents killed, "
            f"{time.monotonic() - began:.0f} s, exit code {code}\n{out.splitlines()[-2]}\nproblems: {problems or 'none'}",
            flush=True,
        )
        print(merged(found, min(30, count)), flush=True)
    print(capped(min(40, count), 0.5), flush=True)
    share, figures = refusals(min(60, count), 120.0)
    print(figures, flush=True)
    return len(problems) + (code != 0) + (share >= 0.1)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(bool(main(*(numbers + [200, 10][len(numbers) :]))))

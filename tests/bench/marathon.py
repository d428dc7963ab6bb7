"""A session of many tasks in a small window: what each compaction frees, what is lost of planted facts, and what a task costs.

    python -m tests.bench.marathon [TASKS] [WINDOW] [WIRE]

A scripted model works over the real wire against the loopback server. Each task plants facts: one in the prompt, one in what a
tool prints, every second one in the model's own answer. At the end all of them are asked for: a fact is in view if the last
request holds its value, found if a call of `recall` with its name returns it, else lost. The judge reads the bodies of
requests and the results of calls only.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall
from agentcli.providers.scripted.model import Reply, call, say, tokens_of
from tests.bench.bench_turns import MODELS
from tests.bench.long_life import prepared, resident
from tests.e2e.program import Program
from tests.loopback import Loopback

TASKS, WINDOW = 80, 60_000
"""Tasks of a run, and tokens of its window; 20,000 are kept for the reply."""
KINDS = ("survey", "module", "repair", "test", "search")
LATE = 30
"""Compactions after which each should still free much."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A planted fact: what it is asked for by, its value, and where it came up."""

    name: str
    value: str
    where: str


@dataclass(slots=True)
class Task:
    """One task: what the user types, what the model calls, what it answers, and the facts in them."""

    prompt: str
    calls: list[ToolCall]
    answer: str
    facts: list[Fact]


@dataclass(slots=True)
class Spent:
    """What one task took. `tokens` are those of all its requests, `cost` in USD, `seconds` of processor time."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    resident: int = 0


@dataclass(slots=True)
class Marathon:
    """What came of it. `freed` is the share of each compaction, `snapshots` their summaries in tokens by the server's count."""

    spent: list[Spent] = field(default_factory=list)
    freed: list[float] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    in_view: list[Fact] = field(default_factory=list)
    found: list[Fact] = field(default_factory=list)
    lost: list[Fact] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Tokens of all requests."""
        return sum(each.tokens for each in self.spent)

    def tenth(self, last: bool) -> Sequence[Spent]:
        """Return the first or the last tenth of the tasks."""
        size = max(1, len(self.spent) // 10)
        return self.spent[-size:] if last else self.spent[:size]


def tasks(count: int) -> list[Task]:
    """Tasks of five kinds, always the same ones."""
    dice = random.Random(80)
    return [_task(n, dice) for n in range(count)]


def _task(n: int, dice: random.Random) -> Task:
    kind, code = KINDS[n % len(KINDS)], f"{dice.randint(100_000, 999_999)}"
    told = Fact(f"tariff_{n:03}", f"T{dice.randint(100_000, 999_999)}", "prompt")
    shown = Fact(f"gauge_{n:03}", f"G{code}", "output")
    facts = [told, shown]
    answer = f"Task {n} is done. "
    if n % 2 == 0:
        said = Fact(f"limit_{n:03}", f"L{dice.randint(100_000, 999_999)}", "answer")
        facts.append(said)
        answer += f"The cause was `{said.name}`, which is {said.value}. "
    rule = f" Never touch `vault_{n}`." if n % 20 == 7 else ""
    prompt = (
        f"Task {n}: please {kind} part {n} of the program.{rule} The client says that `{told.name}` is {told.value}, which I "
        f"read in the letter of last week and which you will need later on. It came with a long explanation of how part {n} is used by their people: "
        f"{'they open it, change a few values, close it again and expect the totals to be right. ' * 3}"
    )
    folder = f"src/part{n // 8}/unit{n}"
    calls = [
        call("bash", command=f"echo '{shown.name} = {shown.value}'; seq {n * 10} {n * 10 + 120}"),
        *(
            call("write", file_path=f"{folder}/m{k}.py", content=_module(n, k))
            for k in range(3 if kind == "module" else 1)
        ),
        call("read", file_path=f"f{n % 40}.txt"),
        call("grep", pattern=f"line {n % 60} "),
        call("bash", command=f"python -c \"print('part {n}', '{'checked ' * 300}')\""),
        call("edit", file_path=f"{folder}/m0.py", old_string=f"VALUE_{n} = 0", new_string=f"VALUE_{n} = {n + 1}"),
        call("read", file_path=f"{folder}/m0.py"),
        *(call("read", file_path=f"f{(n + k) % 40}.txt") for k in range(1, 4 if kind == "survey" else 2)),
    ]
    return Task(prompt, calls, answer + "All totals are right again. " * 8, facts)


def _module(n: int, k: int) -> str:
    lines = "".join(f"def total_{n}_{k}_{line}(values):\n    return sum(values) + {line}\n" for line in range(40))
    return f"VALUE_{n} = 0\n{lines}"


class Script:
    """The model: works through the tasks, writes summaries of what it said, and asks for all facts at the end."""

    def __init__(self, plan: Sequence[Task]) -> None:
        self.task = -1
        self.asking: list[Fact] = []
        self.bodies: list[bytes] = []
        self._plan = plan
        self._step = 0

    def begin(self, task: int) -> None:
        """Begin a task, or with a number behind the last one the questions."""
        self.task, self._step = task, 0

    def __call__(self, asked: Any) -> Reply:
        """The next reply."""
        if "generate the <state_snapshot>" in asked.last_text:
            return say(_summary(asked.body.decode()))
        self.bodies.append(asked.body)
        self._step += 1
        if self.task < len(self._plan):
            task = self._plan[self.task]
            if self._step <= len(task.calls):
                made = task.calls[self._step - 1]
                return say(f"Step {self._step} of task {self.task}.", made)
            return say(task.answer)
        if self._step <= len(self.asking):
            return say("Asked for.", call("recall", pattern=self.asking[self._step - 1].name))
        return say("That was all.")


def _summary(body: str) -> str:
    """Write the items that a model without understanding reads off its own answers."""
    found = dict.fromkeys(re.findall(r"The cause was `(limit_\d+)`, which is (L\d+)", body))
    lines = [f"add knowledge The cause was `{name}`, which is {value}." for name, value in found]
    return "\n".join(("<scratchpad>I read it off.</scratchpad>", "<snapshot_items>", *lines, "</snapshot_items>"))


async def run(
    program: Program, model: str, count: int, told: Callable[[str], None] = lambda _: None, **more: Any
) -> Marathon:
    """Run the whole session in this process."""
    import agentcli

    plan, result = tasks(count), Marathon()
    script = Script(plan)
    with Loopback(script, summaries=False, strict=False) as server:
        program.more = dict(server.env)
        async with agentcli.Session(cwd=str(program.work), model=model, env=program.env, **more) as session:
            for n, task in enumerate(plan):
                script.begin(n)
                result.spent.append(await _said(session, task.prompt, result))
                _judge_snapshot(script, result)
                told(_row(n, result))
                script.bodies[:] = script.bodies[-1:]
                server.asked.clear()
            _judge(await _asked_for(session, script, plan, result), script, plan, result)
    return result


async def _said(session: Any, prompt: str, result: Marathon, outputs: list[str] | None = None) -> Spent:
    import agentcli

    began, spent = time.process_time(), Spent()
    async for event in session.say(prompt):
        if isinstance(event, agentcli.CompactionEvent):
            if event.status == "compressed":
                result.freed.append(1 - event.tokens_after / event.tokens_before)
            elif event.status != "noop":
                result.failed.append(event.why)
        elif outputs is not None and type(event).__name__ == "ToolResultEvent":
            outputs.append(str(getattr(event, "output", "")))
        if isinstance(event, agentcli.Result):
            assert event.status == "success", event
            spent.requests, spent.cost = event.turns, event.cost or 0.0
            usage = event.usage
            spent.tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
    spent.seconds, spent.resident = time.process_time() - began, resident(os.getpid())
    return spent


async def _asked_for(session: Any, script: Script, plan: Sequence[Task], result: Marathon) -> Mapping[str, str]:
    """Ask for all facts by name, a few in each prompt; return what the calls returned."""
    answers: dict[str, str] = {}
    every = [fact for task in plan for fact in task.facts]
    for start in range(0, len(every), 10):
        script.begin(len(plan))
        script.asking = every[start : start + 10]
        outputs: list[str] = []
        await _said(session, "Now recall what you know of the parts.", Marathon(), outputs)
        for fact, output in zip(script.asking, outputs, strict=False):
            answers[fact.name] = output
    return answers


def _judge(answers: Mapping[str, str], script: Script, plan: Sequence[Task], result: Marathon) -> None:
    last = script.bodies[0].decode()
    for fact in (fact for task in plan for fact in task.facts):
        if fact.value in last:
            result.in_view.append(fact)
        elif fact.value in answers.get(fact.name, ""):
            result.found.append(fact)
        else:
            result.lost.append(fact)


def _judge_snapshot(script: Script, result: Marathon) -> None:
    """Note the sizes of the newest snapshot and of the user's words beside it, if the task's requests hold one."""
    texts = [text for text in _strings(json.loads(script.bodies[-1])) if "</state_snapshot>" in text]
    shown = [re.search(r"<state_snapshot>\n.*</state_snapshot>", text, re.DOTALL) for text in texts]
    result.snapshots.append(max((tokens_of(found[0]) for found in shown if found), default=0))
    body = script.bodies[-1].decode()
    result.carried.append(sum(map(len, re.findall(r"<user_message turn=.*?</user_message>", body, re.DOTALL))))


def _strings(value: Any) -> Iterator[str]:
    """All texts in the JSON of a request."""
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _strings(each)
        case dict():
            yield from _strings([*value.values()])
        case _:
            pass


def _row(n: int, result: Marathon) -> str:
    spent = result.spent[-1]
    freed = f"{result.freed[-1]:.0%}" if result.freed else "-"
    return (
        f"task {n:3}: {spent.requests:3} requests {spent.tokens:9,} tokens ${spent.cost:.4f} {spent.seconds:6.2f} s, "
        f"{len(result.freed):3} compactions, the last freed {freed}; snapshot {result.snapshots[-1]:6,} tokens, characters of the user's words {result.carried[-1]:6,}"
    )


def report(result: Marathon) -> Iterator[str]:
    """Lines with the figures of a whole run."""
    late = result.freed[LATE:] or result.freed[-1:]
    yield f"{len(result.spent)} tasks, {result.tokens:,} tokens, {len(result.freed)} compactions, {len(result.failed)} failed"
    yield f"freed: least {min(result.freed, default=0):.0%}, after the thirtieth {min(late, default=0):.0%} to {max(late, default=0):.0%}"
    yield f"largest snapshot {max(result.snapshots):,} tokens, user's words {max(result.carried):,} characters"
    yield f"facts: {len(result.in_view)} in view, {len(result.found)} recalled, {len(result.lost)} lost"
    for name, last in (("first", False), ("last", True)):
        part = result.tenth(last)
        size, requests = len(part), sum(each.requests for each in part)
        yield (
            f"{name} tenth: ${sum(each.cost for each in part) / size:.4f} a task, {sum(each.tokens for each in part) // size:,} tokens a task, "
            f"{1000 * sum(each.seconds for each in part) / max(1, requests):.0f} ms a turn, {part[-1].resident / 1e6:.0f} MB"
        )


def main(arguments: Sequence[str]) -> None:
    """Run it and print a row for each task."""
    numbers = [int(word) for word in arguments if word.isdigit()]
    count, window = (*numbers, *(TASKS, WINDOW)[len(numbers) :])[:2]
    wire = next((word for word in arguments if word in MODELS), "anthropic")
    with tempfile.TemporaryDirectory() as folder:
        program = prepared(Path(folder), MODELS[wire], window)
        result = asyncio.run(run(program, MODELS[wire], count, print))
    print("\n".join(report(result)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Made-up sessions, the same for the same seed: somebody reads, edits and tests a project, with pauses and planted facts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from agentcli.core.message import Message, Status, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Record
from agentcli.extras.lab.facts import Fact

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_NOUNS = [
    "cart",
    "order",
    "price",
    "stock",
    "user",
    "token",
    "cache",
    "queue",
    "batch",
    "ledger",
    "route",
    "parser",
    "window",
    "record",
    "signal",
    "buffer",
]
_VERBS = [
    "load",
    "store",
    "check",
    "merge",
    "split",
    "count",
    "parse",
    "render",
    "fetch",
    "apply",
    "build",
    "match",
    "clean",
    "rank",
    "index",
]
_RULES = (
    "Never edit anything under vendor/{word}.",
    "Always run the tests of {word} before you say that you are done.",
    "Do not add a dependency for {word}.",
    "Only use integer cents in {word}, never floats.",
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How sessions differ. Ranges are inclusive; `steps` are tool calls of a turn, `lines` of a file, times in seconds.

    After a step comes `think`; between two prompts `pause`, or with chance `absence` a `break_` that outlives any cache.
    """

    turns: tuple[int, int] = (4, 14)
    steps: tuple[int, int] = (4, 22)
    files: tuple[int, int] = (6, 18)
    lines: tuple[int, int] = (60, 500)
    working_set: int = 4
    think: tuple[float, float] = (4.0, 30.0)
    pause: tuple[float, float] = (20.0, 200.0)
    break_: tuple[float, float] = (900.0, 7_200.0)
    absence: float = 0.35
    parallel: float = 0.15


@dataclass(frozen=True, slots=True)
class Trace:
    """A made-up session and the facts that were planted in it."""

    seed: int
    records: tuple[Record, ...]
    planted: tuple[Fact, ...]


def trace(seed: int, shape: Shape = Shape()) -> Trace:
    """The session of this seed."""
    writer = _Writer(random.Random(f"trace {seed}"), shape)
    for turn in range(1, writer.between(shape.turns) + 1):
        writer.turn(turn)
    return Trace(seed, tuple(writer.records), tuple(writer.planted))


class _Writer:
    """Writes one session. The project lives here: files change when they are edited, and tests fail until they are mended."""

    def __init__(self, dice: random.Random, shape: Shape) -> None:
        self.dice, self.shape, self.time = dice, shape, START
        self.records: list[Record] = []
        self.planted: list[Fact] = []
        self.calls = 0
        self.files = {self.path(n): self.source(n) for n in range(self.between(shape.files))}
        self.near: list[str] = []

    def between(self, ends: tuple[int, int]) -> int:
        return self.dice.randint(*ends)

    def turn(self, turn: int) -> None:
        """One prompt and the steps that it takes."""
        dice, shape = self.dice, self.shape
        away = turn > 1 and dice.random() < shape.absence
        self.wait(shape.break_ if away else shape.pause)
        self.near = dice.sample(sorted(self.files), min(shape.working_set, len(self.files)))
        self.add(Message("user", (Text(self.prompt(turn)),), turn))
        for _ in range(self.between(shape.steps)):
            self.step(turn)
        self.wait(shape.think)
        said = f"Done with step {turn}: `{self.name()}` in {self.near[0]} behaves as asked."
        self.add(Message("assistant", (Text(said),), turn, stop="end_turn"))

    def step(self, turn: int) -> None:
        """The model asks for a tool, or for several at once, and gets its answers."""
        count = 2 + self.dice.randrange(2) if self.dice.random() < self.shape.parallel else 1
        done = [self.deed() for _ in range(count)]
        calls = tuple(call for call, _ in done)
        self.wait(self.shape.think)
        words = (Text(f"Next I look at {self.name()}."),) if self.dice.random() < 0.5 else ()
        self.add(Message("assistant", (*words, *calls), turn, stop="tool_use"))
        for _, result in done:
            self.add(result)

    def deed(self) -> tuple[ToolCall, ToolResult]:
        deeds = (self.read, self.edit, self.test, self.grep)
        return self.dice.choices(deeds, (40, 22, 24, 14))[0]()

    def read(self) -> tuple[ToolCall, ToolResult]:
        path = self.dice.choice(self.near) if self.dice.random() < 0.85 else self.dice.choice(sorted(self.files))
        shown = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(self.files[path].split("\n"), 1))
        return self.called("read", shown, file_path=path)

    def edit(self) -> tuple[ToolCall, ToolResult]:
        path = self.dice.choice(self.near)
        lines = self.files[path].split("\n")
        at = self.dice.randrange(len(lines))
        old, lines[at] = lines[at], f"    return {self.name()}({self.dice.randrange(1000)})"
        self.files[path] = "\n".join(lines)
        meta = {"path": path, "additions": 1, "deletions": 1}
        return self.called("edit", f"Edited {path}.", meta=meta, file_path=path, old_string=old, new_string=lines[at])

    def test(self) -> tuple[ToolCall, ToolResult]:
        path = f"tests/test_{self.dice.choice(_NOUNS)}.py"
        passed = self.dice.randrange(20, 400)
        if self.dice.random() < 0.45:
            body = "".join(
                f"{path}::test_{self.name()} PASSED [{n:3}%]\n" for n in range(0, 100, self.dice.randrange(1, 5))
            )
            return self.called(
                "bash", f"{body}{passed} passed in 3.21s", meta={"exit_code": 0}, command=f"pytest -v {path}"
            )
        error = f"{self.name().title()}Error: expected {self.dice.randrange(10**6)}, got {self.dice.randrange(10**6)}"
        self.plant("error", f"E       {error}".strip())
        frames = "".join(
            f"{self.dice.choice(sorted(self.files))}:{n}: in {self.name()}\n    {self.line()}\n"
            for n in range(self.dice.randrange(10, 90))
        )
        output = f"{frames}E       {error}\n1 failed, {passed} passed in 4.56s"
        return self.called("bash", output, "error", {"exit_code": 1}, command=f"pytest -v {path}")

    def grep(self) -> tuple[ToolCall, ToolResult]:
        word = self.dice.choice(_NOUNS)
        hits = (
            f"{self.dice.choice(sorted(self.files))}:{self.dice.randrange(500)}:{self.line()}"
            for _ in range(self.dice.randrange(5, 100))
        )
        return self.called("grep", "\n".join(hits), pattern=word, path="src")

    def called(
        self, name: str, output: str, status: Status = "success", meta: Mapping[str, Any] | None = None, **given: Any
    ) -> tuple[ToolCall, ToolResult]:
        self.calls += 1
        call = ToolCall(f"call_{self.calls}", name, given)
        return call, ToolResult(call.call_id, name, status, output, metadata=meta or {})

    def prompt(self, turn: int) -> str:
        lines = [f"Please make {self.name()} in {self.near[0]} faster, then look at {self.near[-1]}."]
        if turn == 1 or self.dice.random() < 0.4:
            rule = self.dice.choice(_RULES).format(word=self.name())
            self.plant("constraint", rule)
            lines.append(rule)
        return "\n".join(lines)

    def plant(self, kind: Any, text: str) -> None:
        self.planted.append(Fact(kind, text))

    def path(self, number: int) -> str:
        return f"src/{_NOUNS[number % len(_NOUNS)]}/{self.dice.choice(_VERBS)}_{number}.py"

    def source(self, number: int) -> str:
        limit = f"LIMIT_{_NOUNS[number % len(_NOUNS)].upper()}_{number} = {self.dice.randrange(10_000, 99_999)}"
        return "\n".join([limit, *(self.line() for _ in range(self.between(self.shape.lines)))])

    def line(self) -> str:
        if self.dice.random() < 0.06:
            return f"def {self.name()}({self.dice.choice(_NOUNS)}, {self.dice.choice(_NOUNS)}):"
        return f"    {self.dice.choice(_NOUNS)} = {self.dice.choice(_VERBS)}({self.dice.choice(_NOUNS)}.{self.name()}, {self.dice.randrange(100)})"

    def name(self) -> str:
        return f"{self.dice.choice(_VERBS)}_{self.dice.choice(_NOUNS)}"

    def wait(self, seconds: tuple[float, float]) -> None:
        self.time += timedelta(seconds=round(self.dice.uniform(*seconds), 3))

    def add(self, body: Body) -> None:
        time = self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.records.append(Record(len(self.records) + 1, f"r{len(self.records) + 1}", time, "", body))

"""What `script` saves in chains of 20 calls over three reference servers, against calls of the model's own.

    SERVERS=FOLDER python -m tests.bench.bench_script [ROUNDS]

`FOLDER` has a virtual environment `venv` with mcp-server-git, and `node_modules` with the servers filesystem and memory. Thirty tasks: in
half of them each call needs the result of the one before; in the others all calls are independent, and the model without `script` makes
them in one reply. A scripted model decides from what it is shown. The loopback server answers at once: `harness` is the time that was
measured, `with a model` adds the time that a model would take for the same requests and tokens (`FIRST`, `RATE`).
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import Program
from tests.loopback import Asked, Loopback

FIRST, RATE = 1.0, 80.0
"""Seconds until a model's first token, and its tokens a second: assumed, not measured."""
NODES, SEEDS = 20, 5
"""Calls of a task, and tasks of one kind for one server."""
MODEL = "anthropic/claude-sonnet-5"
Kind = Literal["dependent", "independent"]
Way = Literal["calls", "script"]
_VALUE, _NEXT = re.compile(r"value: (\d+)"), re.compile(r"next: (\w+)")


@dataclass(frozen=True)
class Graph:
    """Nodes with a value each, in an order that each node tells only for the next one."""

    seed: int
    order: tuple[str, ...]
    values: Mapping[str, int]

    def text(self, name: str) -> str:
        """What a server shows of a node, among other things."""
        at = self.order.index(name) + 1
        follows = f"next: {self.order[at]}" if at < len(self.order) else "the last one"
        noise = random.Random(f"{self.seed}{name}")
        lines = (" ".join(f"{noise.randrange(16**6):06x}" for _ in range(10)) for _ in range(16))
        return "\n".join([f"value: {self.values[name]}", follows, *lines])


def graph(seed: int) -> Graph:
    """The graph of a seed."""
    dice = random.Random(seed)
    names = [f"n{seed}x{number}" for number in range(NODES)]
    dice.shuffle(names)
    return Graph(seed, tuple(names), {name: dice.randrange(10, 10_000) for name in names})


@dataclass(frozen=True)
class Server:
    """A reference server: how a node is looked up, by a call and in a script."""

    name: str
    tool: str
    arguments: Callable[[Path, Graph, str], Mapping[str, Any]]


SERVERS = (
    Server("fs", "read_text_file", lambda base, graph, name: {"path": str(base / "files" / f"{name}.txt")}),
    Server(
        "git", "git_show", lambda base, graph, name: {"repo_path": str(base / f"repo{graph.seed}"), "revision": name}
    ),
    Server("memory", "open_nodes", lambda base, graph, name: {"names": [name]}),
)


@dataclass(frozen=True)
class Task:
    """One task: the sum along the order from its first node, or the node with the largest value."""

    server: Server
    kind: Kind
    graph: Graph

    @property
    def answer(self) -> str:
        """The right answer."""
        values = self.graph.values
        return str(sum(values.values())) if self.kind == "dependent" else max(values, key=lambda name: values[name])

    @property
    def prompt(self) -> str:
        """What the person asks."""
        if self.kind == "dependent":
            return f"Follow the nodes from {self.graph.order[0]} to the last, and give the sum of their values."
        return f"Which of these has the largest value? {' '.join(sorted(self.graph.order))}"


def data(base: Path) -> None:
    """Lay down what the servers show."""
    lines = []
    (base / "files").mkdir(parents=True)
    for seed in range(SEEDS):
        drawn, repo = graph(seed), base / f"repo{seed}"
        repo.mkdir()
        git = ["git", "-C", str(repo), "-c", "user.name=me", "-c", "user.email=me@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        for name in sorted(drawn.order):
            text = drawn.text(name)
            (base / "files" / f"{name}.txt").write_text(text)
            (repo / f"{name}.txt").write_text(text)
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", name], check=True)
            subprocess.run([*git, "tag", name], check=True)
            lines.append(json.dumps({"type": "entity", "name": name, "entityType": "node", "observations": [text]}))
    (base / "memory.jsonl").write_text("\n".join(lines) + "\n")


def servers(base: Path, folder: Path) -> str:
    """The definition of the servers."""
    node = folder / "node_modules/.bin"
    found = {
        "fs": {"command": str(node / "mcp-server-filesystem"), "args": [str(base)]},
        "git": {"command": str(folder / "venv/bin/mcp-server-git")},
        "memory": {"command": str(node / "mcp-server-memory"), "env": {"MEMORY_FILE_PATH": str(base / "memory.jsonl")}},
    }
    return json.dumps({"mcpServers": found})


class Player:
    """A model that works on a task in one of the two ways, and decides from what it is shown."""

    def __init__(self, task: Task, way: Way, base: Path) -> None:
        self.task, self.way, self.base = task, way, base
        self._values: dict[str, int] = {}
        self._asked: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        shown = _results(asked)
        if self.way == "script":
            return say(shown[-1].split("\n")[0]) if shown else Reply((call("script", code=self._code()),))
        names = self._next(shown)
        self._asked = names
        if names:
            return Reply(tuple(self._call(asked, name) for name in names))
        best = max(self._values, key=lambda name: self._values[name])
        return say(str(sum(self._values.values())) if self.task.kind == "dependent" else best)

    def _next(self, shown: Sequence[str]) -> list[str]:
        """Take the newest results, and return the nodes to look up now."""
        order = self.task.graph.order
        if not self._asked:
            return [order[0]] if self.task.kind == "dependent" else sorted(order)
        newest = shown[-len(self._asked) :]
        for name, text in zip(self._asked, newest, strict=True):
            value = _VALUE.search(text)
            self._values[name] = int(value[1]) if value is not None else -1
        follows = _NEXT.search(newest[-1])
        return [follows[1]] if self.task.kind == "dependent" and follows else []

    def _call(self, asked: Asked, name: str) -> Any:
        """A call of the server's tool, through the gate if it is not listed."""
        server = self.task.server
        given = dict(server.arguments(self.base, self.task.graph, name))
        full = f"mcp__{server.name}__{server.tool}"
        if any(tool["name"] == full for tool in asked.json["tools"]):
            return call(full, **given)
        return call("mcp_call", tool=full, arguments=given)

    def _code(self) -> str:
        server, order = self.task.server, self.task.graph.order
        given = dict(server.arguments(self.base, self.task.graph, "NAME"))
        written = ", ".join(f"{key}={json.dumps(value)}" for key, value in given.items()).replace('"NAME"', "name")
        written = re.sub(r'"([^"]*)NAME([^"]*)"', r'f"\1{name}\2"', written)
        look = f"mcp.{server.name}.{server.tool}({written})"
        if self.task.kind == "dependent":
            return (
                f'import re\nname, total = "{order[0]}", 0\nwhile name:\n    text = {look}\n'
                '    total += int(re.search(r"value: (\\d+)", text)[1])\n'
                '    found = re.search(r"next: (\\w+)", text)\n    name = found[1] if found else None\nprint(total)'
            )
        return (
            f'import re\nnames = "{" ".join(sorted(order))}".split()\ntexts = gather(lambda name: {look}, names)\n'
            'values = [int(re.search(r"value: (\\d+)", text)[1]) for text in texts]\n'
            "print(names[values.index(max(values))])"
        )


def _results(asked: Asked) -> list[str]:
    """The texts of all results in a request, oldest first."""
    found = []
    for message in asked.json["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                found.append(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
    return found


@dataclass(frozen=True)
class Ran:
    """Figures of one run. `new` are input tokens that no cache had, `read` those that it had."""

    right: bool
    requests: int
    new: int
    read: int
    output: int
    seconds: float

    @property
    def tokens(self) -> int:
        """All tokens of all requests."""
        return self.new + self.read + self.output

    @property
    def units(self) -> float:
        """The price in new input tokens: reads a tenth, output five times."""
        return self.new * 1.25 + self.read * 0.1 + self.output * 5

    @property
    def wall(self) -> float:
        """Seconds with a model."""
        return self.seconds + self.requests * FIRST + self.output / RATE


def play(task: Task, way: Way, program: Program, folder: Path) -> Ran:
    """Run the program once. The server of files allows the folder in which the program works."""
    base = program.work
    with Loopback(Player(task, way, base)) as server:
        program.more = server.env
        scripts = "on" if way == "script" else "off"
        flags = ("--mcp-config", servers(base, folder), "--allow", "mcp__*", "--set", f"tools.scripts={scripts}")
        ran = program.ask("-p", task.prompt, "-m", MODEL, *flags, seconds=90)
    usage = [line for line in ran.of("usage") if line["kind"] == "reply"]
    new, read, output = (
        sum(sum(line[name] for name in names) for line in usage)
        for names in (("input", "cache_write"), ("cache_read",), ("output",))
    )
    began, ended = (datetime.fromisoformat(line["timestamp"]) for line in (ran.of("message")[0], ran.result))
    seconds = (ended - began).total_seconds()  # from the prompt on: the servers have started by then
    right = ran.code == 0 and ran.result["text"].strip() == task.answer
    if not right:
        print(f"{task.server.name} {task.kind} {task.graph.seed} {way}: {ran.result['text']!r} {ran.err}", flush=True)
    return Ran(right, len(usage), new, read, output, seconds)


def main(rounds: int) -> None:
    """Print a table: for each kind of task, and both ways in alternating order, the sums over all tasks."""
    folder = Path(os.environ["SERVERS"]).resolve()
    kinds: tuple[Kind, ...] = ("dependent", "independent")
    tasks = [Task(server, kind, graph(seed)) for kind in kinds for server in SERVERS for seed in range(SEEDS)]
    found: dict[tuple[Kind, Way], list[Ran]] = {}
    with tempfile.TemporaryDirectory() as place:
        program = Program(Path(place).resolve())
        data(program.work)
        for number in range(rounds * len(tasks)):
            task = tasks[number % len(tasks)]
            ways: tuple[Way, Way] = ("calls", "script") if number % 2 else ("script", "calls")
            for way in ways:
                found.setdefault((task.kind, way), []).append(play(task, way, program, folder))
    print(f"{'':24}{'right':>8}{'requests':>10}{'tokens':>12}{'units':>12}{'harness s':>11}{'with a model s':>16}")
    for (kind, way), runs in sorted(found.items()):
        sums = [sum(getattr(ran, name) for ran in runs) for name in ("requests", "tokens", "units", "seconds", "wall")]
        right = f"{sum(ran.right for ran in runs)}/{len(runs)}"
        print(
            f"{kind + ', ' + way:24}{right:>8}{sums[0]:>10}{sums[1]:>12,}{sums[2]:>12,.0f}{sums[3]:>11.1f}{sums[4]:>16.1f}"
        )
    for rows in (*kinds, "all"):
        of = {
            way: [ran for (each, by), runs in found.items() if by == way and rows in (each, "all") for ran in runs]
            for way in ("calls", "script")
        }
        saved = {
            name: 1 - sum(getattr(ran, name) for ran in of["script"]) / sum(getattr(ran, name) for ran in of["calls"])
            for name in ("tokens", "units", "seconds", "wall")
        }
        print(f"{rows}: " + ", ".join(f"{name} {-share:+.0%}" for name, share in saved.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)

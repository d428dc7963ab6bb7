"""Runs of the program whose records, requests and event lines are kept; each is played against the loopback server."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from agentcli.frontends.cli.parser import whole_group
from agentcli.frontends.sections import SCHEMA
from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import Program as InWork
from tests.loopback import Asked, Loopback


class Program(InWork):
    """The program in a folder named `repo`."""

    @property
    def work(self) -> Path:
        """The folder it works in."""
        folder = self.base / "repo"
        folder.mkdir(exist_ok=True)
        return folder


MODELS = {"anthropic": "anthropic/claude-sonnet-5", "google": "google/gemini-3.8-flash"}
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92"
    "ef0000000049454e44ae426082"
)
PRICES = "models.google/gemini-3.8-flash.prices={input=0.75, output=3.75, cache_read=0.075, cache_write=0.75}"
"""Prices that do not change with the day."""
Events = list[dict[str, Any]]


def work(program: Program, model: str) -> Iterator[Events]:
    """Thinking, parallel calls, an edit, a command, a failing call, a todo list, a picture; then a second prompt."""
    (program.work / "shot.png").write_bytes(PICTURE)
    yield ask(program, model, "Fix the total. @shot.png", "--allow", "bash(python3 *)", "--mode", "auto-edit")
    yield ask(program, model, "And now explain it.", start=("resume", "--last"))


def compress(program: Program, model: str) -> Iterator[Events]:
    """A compaction with a focus, a prompt after it, and a prompt on the other provider. Nothing is cleared before it."""
    whole = ("--set", "context.prune.enabled=false")
    yield ask(program, model, "Fix the total.", "--mode", "auto-edit")
    big_files(program)
    yield ask(program, model, "Read all the big files.", *whole, start=("resume", "--last"))
    yield ask(program, model, "Which was the longest?", *whole, start=("resume", "--last"))
    yield ask(program, model, "/compress keep the names", *whole, start=("resume", "--last"))
    yield ask(program, model, "Go on.", *whole, start=("resume", "--last"))
    other = next(one for one in MODELS.values() if one != model)
    yield ask(program, other, "Go on elsewhere.", *whole, start=("resume", "--last"))


def prune(program: Program, model: str) -> Iterator[Events]:
    """Old tool output is cleared before a request."""
    big_files(program)
    small = [f"context.prune.{name}" for name in ("protect=2000", "minimum=1000", "turns=0")]
    small = [word for one in ("context.policy=opencode", *small) for word in ("--set", one)]
    yield ask(program, model, "Read all the big files.", *small)
    yield ask(program, model, "Which was the longest?", *small, start=("resume", "--last"))


def fork(program: Program, model: str) -> Iterator[Events]:
    """A fork in the middle, and a prompt in it."""
    yield ask(program, model, "Fix the total.", "--mode", "auto-edit")
    yield ask(program, model, "Do it another way: which one is there?", start=("resume", "--last", "--fork"))


def subagent(program: Program, model: str) -> Iterator[Events]:
    """A subagent looks something up in a session of its own."""
    yield ask(program, model, "Send somebody to look: what is the total?")


def undo(program: Program, model: str) -> Iterator[Events]:
    """Pin, undo, redo and rewind, typed into the plain terminal."""
    yield ask(program, model, "Fix the total.", "--mode", "auto-edit")
    with program.terminal("resume", "--last", "--plain", "-m", model, columns=200, rows=40) as t:
        t.until("/quit exits.")
        for line in ("/pin 2", "/undo", "/redo", "/unpin 2", "/pin 2", "/rewind 2", "1", "/quit"):
            t.settle(1.0)
            t.send(line + "\r")
        t.wait()
    yield ask(program, model, "Where are we?", start=("resume", "--last"))


RUNS: dict[str, Callable[[Program, str], Iterator[Events]]] = {
    run.__name__: run for run in (work, compress, prune, fork, subagent, undo)
}
FILES = {
    "total.py": "def total(lines):\n    return sum(lines) + 1\n",
    "check.py": "from total import total\n\nassert total([1, 2]) == 3\n",
    "AGENTS.md": "Use whole cents.\n",
}
STEPS = [
    say(
        "I look.",
        call("read", "look-1", file_path="total.py"),
        call("read", "look-2", file_path="check.py"),
        thinking="Let me see.",
    ),
    say("I note it.", call("todo", "note", todos=[{"content": "fix the total", "status": "in_progress"}])),
    say(
        "I edit.",
        call("edit", "edit-1", file_path="total.py", old_string=" + 1", new_string=""),
        call("read", "look-3", file_path="missing.py"),
        thinking="Simple.",
    ),
    say("I try it.", call("bash", "try", command="python3 -B check.py && ls")),
    say("The total is right now.", thinking="All is well."),
]


def answer(asked: Asked) -> Reply:
    """A model that goes by the last prompt, whatever the wire."""
    steps, prompt = 0, ""
    for turn in asked.turns:
        words = texts(turn)
        if turn["role"] == "user" and words:
            steps, prompt = 0, words
        elif turn["role"] in ("assistant", "model"):
            steps += 1
    if "Fix the total" in prompt:
        return STEPS[min(steps, len(STEPS) - 1)]
    if "big files" in prompt and steps < 4:
        return say(f"Number {steps}.", call("read", f"big-{steps}", file_path=f"big{steps}.txt"))
    if "Send somebody" in prompt and not steps:
        return say("I send one.", call("task", "send", description="look", prompt="Find the total."))
    if "Find the total" in prompt and not steps:
        return say("Looking.", call("grep", "find", pattern="total"))
    return say(f"Answer {steps} to a prompt.")


def texts(turn: Any) -> str:
    """The texts of a message of either wire, without what is not text."""
    content = turn["content"] if "content" in turn else turn["parts"]
    return content if isinstance(content, str) else " ".join(block["text"] for block in content if "text" in block)


def big_files(program: Program) -> None:
    """Files whose reading fills the window."""
    for number in range(4):
        text = "".join(f"line {line} of {number}\n" for line in range(1_500))
        (program.work / f"big{number}.txt").write_text(text)


def ask(program: Program, model: str, prompt: str, *more: str, start: tuple[str, ...] = ()) -> Events:
    """One prompt; its event lines."""
    ran = program.ask(*start, "-p", prompt, "-m", model, "--set", "retry.attempts=1", "--set", PRICES, *more)
    assert ran.code == 0, (ran.err, ran.out[-2000:])
    return ran.lines


def play(name: str, wire: str, base: Path) -> dict[str, Any]:
    """A run as plain values: its event lines, the requests it led to and the records of its sessions."""
    program = Program(base)
    for file, text in FILES.items():
        (program.work / file).write_text(text)
    with Loopback(answer) as server:
        program.more = server.env
        events = list(RUNS[name](program, MODELS[wire]))
    refused = [asked.refused for asked in server.asked if asked.refused]
    assert not refused, refused
    folders = sorted(program.sessions.glob("*/*/records"))
    told = {
        "events": events,
        "requests": shortened([{"path": asked.path, **asked.json} for asked in server.asked]),
        "sessions": [
            {
                "info": json.loads((folder.parent / "session.json").read_text()),
                "records": [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))],
            }
            for folder in folders
        ],
    }
    return dict(steady(told, base))


def resume(folder: Path, base: Path) -> dict[str, Any]:
    """Going on with a session that an earlier version of the program left: the request it leads to, and the new records."""
    program = Program(base)
    kept = program.sessions / "kept" / json.loads((folder / "session.json").read_text())["id"]
    shutil.copytree(folder, kept)
    before = set((kept / "records").iterdir())
    model = json.loads((folder / "session.json").read_text())["model"]
    with Loopback(answer) as server:
        program.more = server.env
        events = ask(program, model, "Go on.", start=("resume", kept.name))
    added = sorted(set((kept / "records").glob("*.json")) - before)
    records = [json.loads(path.read_text()) for path in added]
    return dict(steady({"request": server.requests[0].json, "events": events, "records": records}, base))


def command_line(base: Path) -> dict[str, str]:
    """The help of every command, and every setting with its value and origin."""
    program = Program(base)
    told = {}
    for command in [[], *_below(whole_group(), [])]:
        told[" ".join(["agentcli", *command, "--help"])] = program.run(*command, "--help").out
    told["agentcli config show --origin"] = program.run("config", "show", "--origin").out
    return dict(steady(told, base, fold=False))


def _below(group: TyperGroup, above: Sequence[str]) -> Iterator[list[str]]:
    """The words of each command below a group, except for the hidden ones."""
    for name, command in group.commands.items():
        if not command.hidden:
            yield [*above, name]
            if isinstance(command, TyperGroup):
                yield from _below(command, [*above, name])


def defaults(_: Path) -> dict[str, dict[str, Any]]:
    """Every setting, and the fields of values that are not empty if nothing is said about them."""
    settings = {name: value for key, section in SCHEMA.sections.items() for name, value in _settings(key, section())}
    values = {
        f"{owner.__module__.rpartition('.')[2]}.{owner.__name__}.{field.name}": field.default
        for owner in _classes()
        for field in dataclasses.fields(owner)
        if isinstance(field.default, str | int | float | tuple) and field.default
    }
    return dict(json.loads(json.dumps({"settings": settings, "values": values}, default=str)))


def _settings(above: str, section: Any) -> Iterator[tuple[str, Any]]:
    """Name each setting of a section with its value."""
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if dataclasses.is_dataclass(value):
            yield from _settings(f"{above}.{field.name}", value)
        else:
            yield f"{above}.{field.name}", dict(value) if isinstance(value, Mapping) else value


def _classes() -> Iterator[type[Any]]:
    """List the data classes of the packages of values, except for settings."""
    for package in DEFAULTS_OF:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            for _, owner in inspect.getmembers(importlib.import_module(found.name), inspect.isclass):
                if owner.__module__ == found.name and dataclasses.is_dataclass(owner) and "settings" not in found.name:
                    yield owner


DEFAULTS_OF = ("agentcli.core", "agentcli.context", "agentcli.permissions", "agentcli.sessions")
"""Packages of values. Benches chose the numbers of the engine: a change of one is a decision, and shows."""


def shortened(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests without what each repeats of the one before: equal fields, and equal messages at the start."""
    before: dict[str, Any] = {}
    short = []
    for request in requests:
        own = {key: value for key, value in request.items() if key == "path" or before.get(key) != value}
        for key in ("messages", "contents"):
            if key in own and key in before:
                pairs = zip(before[key], own[key], strict=False)
                same = next(
                    (number for number, (old, new) in enumerate(pairs) if old != new),
                    min(len(before[key]), len(own[key])),
                )
                own[key] = [f"<{same} as before>", *own[key][same:]]
        short.append(own)
        before = request
    return short


def steady(value: Any, base: Path, *, fold: bool = True) -> Any:
    """The value without what differs from run to run: ids, times, hashes, the machine's folders."""
    seen: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"<id {len(seen) + 1}>")

    text = json.dumps(value, ensure_ascii=False).replace(str(base), "/home/dev")
    for pattern, put in CHANGING:
        text = pattern.sub(put or number, text)
    return folded(json.loads(text)) if fold else json.loads(text)


@contextlib.contextmanager
def folder_of_fixed_length() -> Iterator[Path]:
    """A temporary folder whose path has always as many characters: estimates of tokens go by them."""
    with tempfile.TemporaryDirectory() as outer:
        base = Path(outer).resolve()
        base /= "x" * (LENGTH - len(str(base)) - 1)
        base.mkdir()
        yield base


LENGTH = 120
"""Characters of the path of a run's folder."""


def folded(value: Any) -> Any:
    """The value with each long text folded to its start, its length and its hash."""
    match value:
        case str() if len(value) > LONG:
            return f"{value[:200]}… <{len(value)} characters, {sha256(value.encode()).hexdigest()[:16]}>"
        case list():
            return [folded(one) for one in value]
        case dict():
            return {key: folded(one) for key, one in value.items()}
        case _:
            return value


LONG = 1_000
"""Characters of a text that is kept whole."""
CHANGING: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\d{8}-\d{6}-[0-9a-v]{7}"), ""),
    (re.compile(r"\b(?:toolu|call|msg|req)_[0-9A-Za-z]{8,}"), ""),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)"), "<time>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<date>"),
    (re.compile(r'("(?:duration_ms|shelf|start|end|seconds)": )[\d.]+'), r"\g<1>0"),
    (re.compile(r"\brepo-[0-9a-f]{10}\b"), "<project>"),
    (re.compile(r"(?<=; )\d+ cores?, \d+ GB\\nInstalled: [^\\]*"), "<machine>"),
]

STORED = Path(__file__).parent / "stored"
CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "command-line": command_line,
    "defaults": defaults,
    **{f"{name}-{wire}": partial(play, name, wire) for name in RUNS for wire in MODELS},
    **{f"stored-{folder.name}": partial(resume, folder) for folder in sorted(STORED.iterdir())},
}

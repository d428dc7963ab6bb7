"""Kills at random moments: every acknowledged record stays, each session opens, no tool runs twice.

    python -m tests.attack.kills [count]

Each attack starts the program (a turn with tools, a fork, an export, an import, a compaction, the repair of a damaged session),
waits until it has changed so many files, and kills it; a repair is then done again. A further row of the table is a scripted session without the program around it, killed as often.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolResult
from agentcli.sessions.integrity import check
from agentcli.sessions.store import Store
from tests.e2e.program import ROOT, Program

CHANGES = {"turn": 30, "fork": 6, "export": 1, "import": 6, "compress": 2, "repair": 12}
"""What is killed, each with the most changed files that are waited for."""
STEPS = 4
"""Replies with a call that a turn has."""


@dataclass
class Target:
    """A program whose only session is long enough to be compacted, and an export of it."""

    program: Program
    acknowledged: dict[Path, str] = field(default_factory=dict)
    harmed: frozenset[str] = frozenset()
    """Digests of the records that were damaged: a repair keeps their bytes."""
    runs: int = 0

    @classmethod
    def build(cls, base: Path) -> Target:
        """Play the session."""
        target = cls(Program(base))
        script = target.script([{"text": "word " * 3_000}])
        for arguments in (["-p", "begin"], ["resume", "--last", "-p", "more"]):
            ran = target.program.ask(*arguments, "-m", script)
            assert ran.code == 0, ran.err
        target.program.run("sessions", "export", target.session, *target.export("whole.json"))
        shutil.copytree(target.program.sessions, base / "prepared", symlinks=True)
        target.effects.touch()
        return target

    @property
    def session(self) -> str:
        """The id of the session."""
        return next(folder.parent.name for folder in sorted(self.program.sessions.glob("*/*/records")))

    @property
    def effects(self) -> Path:
        """The file to which each call that runs adds a line."""
        return self.program.work / "effects"

    def script(self, replies: Sequence[Mapping[str, Any]]) -> str:
        """A scripted model with these replies."""
        file = self.program.base / "script.json"
        file.write_text(json.dumps({"replies": replies}))
        return f"script:{file}"

    def export(self, name: str) -> list[str]:
        """Options of an export without loss into a file of this name."""
        return ["--format", "json", "--keep-secrets", "-o", str(self.program.base / name)]

    def arguments(self, way: str) -> list[str]:
        """The command line that is killed."""
        match way:
            case "fork":
                return ["sessions", "fork", self.session]
            case "export":
                return ["sessions", "export", self.session, *self.export("out.json")]
            case "import":
                return ["sessions", "import", "--again", str(self.program.base / "whole.json")]
            case "compress":
                return ["resume", "--last", "-p", "/compress", "-m", self.script([{"text": "so far"}])]
            case "repair":
                return ["sessions", "check", "--repair"]
        self.runs += 1
        names = [f"effect-{self.runs}-{step}." for step in range(STEPS)]
        calls = [{"name": "bash", "input": {"command": f"echo {name} | tee -a effects"}} for name in names]
        replies = [{"text": f"said {name}", "calls": [call]} for name, call in zip(names, calls, strict=True)]
        script = self.script([*replies, {"text": "done"}])
        return ["resume", "--last", "-p", "go on", "-m", script, "--mode", "yolo", "-o", "stream-json"]

    def restore(self) -> None:
        """The store as it was at first."""
        shutil.rmtree(self.program.sessions)
        shutil.copytree(self.program.base / "prepared", self.program.sessions, symlinks=True)
        self.acknowledged.clear()
        self.harmed = frozenset()
        self.effects.write_text("")

    def harm(self, chance: random.Random) -> None:
        """Leave the session as a bad disk and a dead process would: everything that a repair mends is there."""
        records = sorted(self.records())
        folder = records[0].parents[1]
        damaged, missing = chance.sample(records[1:], 2)
        damaged.write_bytes(damaged.read_bytes()[:40])
        missing.unlink()
        (folder / "records" / "notes.txt").write_text("no record")
        for name in ("session.json", "records/000002-message.json"):
            shutil.copy(records[0], (folder / name).with_name(f".{Path(name).name}.1-1.tmp"))
        (folder / "outputs").mkdir(exist_ok=True)
        (folder / "outputs" / "nobody.txt").write_text("an output of no record")
        chance.choice([(folder / "session.json").unlink, lambda: None])()
        self.harmed = frozenset(map(_digest, (damaged, folder / "outputs" / "nobody.txt")))

    def files(self) -> frozenset[Path]:
        """What the program writes."""
        places = [self.program.sessions, *self.program.base.glob("*out.json*")]
        while True:
            with contextlib.suppress(FileNotFoundError):  # a folder was given its name while it was read
                return frozenset(path for place in places for path in (place, *place.rglob("*")))

    def records(self) -> dict[Path, str]:
        """The records of all finished sessions, each with the digest of its bytes."""
        found = self.program.sessions.glob("*/[!.]*/records/*.json")
        return {path: digest for path in found if (digest := _digest(path)) not in self.harmed}

    def whole(self) -> frozenset[str]:
        """Digests of all files of all sessions."""
        return frozenset(map(_digest, filter(Path.is_file, self.program.sessions.rglob("*"))))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of one attack."""

    killed: bool
    acknowledged: int
    wrong: str


def attack(target: Target, way: str, chance: random.Random) -> Outcome:
    """Start the program, kill it, and look at what it left."""
    if way == "repair":
        target.restore()
        target.harm(chance)
    before = target.files()
    changes, pause = chance.randrange(CHANGES[way]), chance.random() * 0.02
    process = target.program.start(*target.arguments(way))
    with process:
        while process.poll() is None and len(target.files() ^ before) <= changes:
            time.sleep(0.0005)
        time.sleep(pause)
        target.acknowledged |= target.records()
        process.kill()
        out, err = process.communicate()
    events = [json.loads(line) for line in out.split("\n")[:-1]] if way == "turn" else []
    texts = [event.get("text", event.get("output")) for event in events if _is_acknowledged(event)]
    if way == "repair":
        err += target.program.run(*target.arguments(way)).err
    wrong = "Traceback" if "Traceback" in err else _damage(target, texts)
    return Outcome(process.returncode == -9, len(target.acknowledged), wrong)


def _is_acknowledged(event: Mapping[str, Any]) -> bool:
    whole_reply = event["type"] == "message" and not event.get("delta")
    return whole_reply or event["type"] == "tool_result"


def _damage(target: Target, texts: Sequence[str]) -> str:
    """What is lost, damaged or was done twice, or an empty text."""
    kept = target.records()
    for path, digest in target.acknowledged.items():
        if kept.get(path) != digest:
            return f"{path.name} is lost or has changed"
    if target.harmed - target.whole():
        return "a repair has lost the bytes of a damaged record"
    records = "".join(path.read_text() for path in kept)
    if lost := [text for text in texts if json.dumps(text.strip(), ensure_ascii=False)[1:-1] not in records]:
        return f"printed and not recorded: {lost}"
    runs = Counter(target.effects.read_text().split())
    if twice := [name for name, count in runs.items() if count > 1 or f"echo {name}" not in records]:
        return f"ran twice or unrecorded: {twice}"
    exported = target.program.base / "out.json"
    if exported.exists() and exported.read_text() != (target.program.base / "whole.json").read_text():
        return "the export is not whole"
    return unusable(Store(target.program.sessions))


def unusable(store: Store) -> str:
    """Open every session; the first that is damaged or holds two answers to one call, or an empty text."""
    for info in store.list():
        session = store.open(info.project_id, info.id)
        answers = Counter(record.body.call_id for record in session.records() if isinstance(record.body, ToolResult))
        session.close()
        report = check(session.folder)
        if not report.ok or max(answers.values(), default=1) > 1:
            return f"{info.id}: {report}, {answers}"
    return ""


def scripted(root: Path, seed: int, effects: Path) -> list[tuple[str, str, str]]:
    """Kill a scripted session at a random moment; the session, name and digest of each record that it acknowledged."""
    chance = random.Random(seed)
    command = [sys.executable, "-m", "tests.sessions.scripted_child", str(root), str(seed), str(effects)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chance.choice([0, 1, 2, 5, 10]))]
        time.sleep(chance.random() * (0.1 if not lines else 0.01))
        child.kill()
        lines += child.stdout.readlines()
        child.wait()
    assert child.returncode == -9
    return [
        (session, name, digest)
        for session, name, digest in (line.decode().split() for line in lines if line[-1:] == b"\n")
    ]


def attack_scripted(base: Path, kills: int, first_seed: int) -> tuple[int, int]:
    """Kill scripted sessions of one store so many times; how many records were acknowledged and how many sessions there are."""
    store, effects = Store(base / "sessions"), base / "effects"
    effects.touch()
    acknowledged = [
        record for seed in range(first_seed, first_seed + kills) for record in scripted(store.root, seed, effects)
    ]
    infos = {info.id: info for info in store.list()}
    for session, name, digest in acknowledged:
        path = store.folder(infos[session]) / "records" / name
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    assert unusable(store) == ""
    assert max(Counter(effects.read_text().split()).values(), default=1) == 1
    return len(acknowledged), len(infos)


def main(count: int) -> int:
    """Kill so often in each way and print a table; the number of attacks that did damage."""
    failed = 0
    print(f"{'way':10} {'kills':>5} {'ended before':>12} {'acknowledged':>12}  damage")
    for way in CHANGES:
        with tempfile.TemporaryDirectory() as base:
            target = Target.build(Path(base))
            outcomes = []
            for seed in range(count):
                if way != "turn" or seed % 25 == 0:
                    target.restore()
                outcomes.append(attack(target, way, random.Random(f"{way} {seed}")))
        damage = [outcome.wrong for outcome in outcomes if outcome.wrong]
        failed += len(damage)
        kills, acknowledged = sum(one.killed for one in outcomes), sum(one.acknowledged for one in outcomes)
        print(f"{way:10} {kills:5} {count - kills:12} {acknowledged:12}  {damage[:1] or 'none'}", flush=True)
    with tempfile.TemporaryDirectory() as base:
        acknowledged, _ = attack_scripted(Path(base), count, 0)
        print(f"{'scripted':10} {count:5} {0:12} {acknowledged:12}  none")
    return failed


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)))

"""A repository with a batch of tasks, and the program that runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.program import ROOT, Program

WRITES = {"calls": [{"name": "bash", "input": {"command": "basename $PWD > new.txt"}}]}
"""A reply that changes the tree."""
DONE = {"text": "Done."}


def program(base: Path, tasks: Iterable[str] = ("t0",)) -> Program:
    """A program in a repository with a commit and a file of tasks; modules of the tests can be imported there."""
    found = Program(base, more={"PYTHONPATH": str(ROOT)})
    (found.work / "a.txt").write_text("one\n")
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=found.work, check=True, capture_output=True)
    lines = [{"id": id, "prompt": f"task {id}"} for id in tasks]
    (found.work / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return found


def script(program: Program, *replies: object) -> str:
    """The name of a model that gives these replies."""
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


def results(program: Program, out: str = "out") -> dict[str, dict[str, object]]:
    """The lines of `results.jsonl` by id."""
    lines = (program.work / out / "results.jsonl").read_text().splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


def ledger(program: Program, out: str = "out") -> list[dict[str, object]]:
    """All rows of all ledgers."""
    files = sorted((program.work / out).glob("ledger-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]

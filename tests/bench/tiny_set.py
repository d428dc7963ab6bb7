"""A set of tiny tasks, and models that solve all of them, none, or each third."""

from __future__ import annotations

import json
from pathlib import Path

TASK = """kind = "a number"
{header}
-- prompt --
Copy number.txt to answer.txt.
-- files/number.txt --
{number}
-- hidden/check.py --
from agentcli.extras.bench.judging import answer, judge, require, require_unchanged


def check(tree, original):
    require_unchanged(tree, original, {{"answer.txt"}})
    require(answer(tree, "answer.txt") == "{number}", "another number")


judge(check)
"""


def tasks(folder: Path, count: int, header: str = "") -> Path:
    """A folder with so many tasks, numbered from 0."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"t{number:02}.txt").write_text(TASK.format(number=number, header=header))
    return folder


def model(folder: Path, name: str, condition: str, before: str = "true") -> str:
    """The name of a model that copies the number if a shell condition about `$n` holds."""
    command = f"n=$(cat number.txt); {before}; if {condition}; then cp number.txt answer.txt; fi"
    replies = [{"calls": [{"name": "bash", "input": {"command": command}}]}, {"text": "Done."}]
    (folder / f"{name}.json").write_text(json.dumps({"replies": replies}))
    return f"script:{folder / name}.json"

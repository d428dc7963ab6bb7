"""Solutions of the tasks of our own set, right and wrong; they do not ship, so that no agent finds them.

A part `right/PATH` or `wrong-NAME/PATH` is a file, `!edit` has lines `[PATH, OLD, NEW]` (`[PATH, null]` deletes), `!make` is a program. What
is wrong starts from what is right.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "solutions"


def solutions(task: str) -> dict[str, dict[str, str]]:
    """The solutions of a task: their parts by path, by name."""
    found: dict[str, dict[str, str]] = {}
    _, *rest = re.split(
        r"^-- (right|wrong-[\w-]+)/(\S+) --\n", (FOLDER / f"{task}.txt").read_text(), flags=re.MULTILINE
    )
    for name, path, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        found.setdefault(name, {})[path] = text
    return found


def solve(task: str, name: str, tree: Path) -> None:
    """Apply a solution to a tree."""
    known = solutions(task)
    for each in dict.fromkeys(("right", name)):
        _apply(known[each], tree)


def _apply(parts: dict[str, str], tree: Path) -> None:
    for path, text in parts.items():
        if path == "!make":
            subprocess.run([sys.executable, "-c", text], cwd=tree, check=True)
        elif path == "!edit":
            for line in text.splitlines():
                _edit(tree, *json.loads(line))
        else:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)


def _edit(tree: Path, path: str, old: str | None, new: str = "") -> None:
    if old is None:
        (tree / path).unlink()
        return
    text = (tree / path).read_text()
    assert text.count(old) == 1, f"{path}: {text.count(old)} times {old!r}"
    (tree / path).write_text(text.replace(old, new))

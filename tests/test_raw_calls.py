"""What is easy to get wrong is done in one module, which the rest of the program calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "agentcli"

LOCKING = frozenset({"flock", "lockf", "F_SETLK", "F_SETLKW", "F_OFD_SETLK", "F_OFD_SETLKW"})
TASKS = frozenset({"create_task", "ensure_future", "add_done_callback", "create_background_task"})


def names(code: str) -> Iterator[tuple[int, str]]:
    """Each attribute and imported name, with its line: `asyncio.create_task` and `from asyncio import create_task` alike."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.ImportFrom(names=found):
                yield from ((node.lineno, alias.name) for alias in found)


@pytest.mark.parametrize(
    ("raw", "module"),
    [(LOCKING, "system/locked_file.py"), (TASKS, "core/tasks.py")],
    ids=["locking", "tasks"],
)
def test_raw_calls_are_made_in_one_module(raw: frozenset[str], module: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in names(path.read_text())
        if name in raw and path != PACKAGE / module
    ]
    assert found == [], f"only agentcli/{module} calls these"
    assert any(name in raw for _, name in names((PACKAGE / module).read_text()))

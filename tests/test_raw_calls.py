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


def unclosed(code: str) -> Iterator[tuple[int, str]]:
    """Each `async for`, in a loop or a comprehension, over anything but the name that an `async with closing(…)` around it gives the stream."""

    def bound(node: ast.AsyncWith) -> Iterator[str]:
        for item in node.items:
            match item:
                case ast.withitem(context_expr=ast.Call(func=ast.Name(id="closing")), optional_vars=ast.Name(id=name)):
                    yield name

    def visit(node: ast.AST, closed: frozenset[str]) -> Iterator[tuple[int, str]]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                closed = frozenset()
            case ast.AsyncWith():
                closed = closed.union(bound(node))
            case ast.AsyncFor(iter=stream) if not (isinstance(stream, ast.Name) and stream.id in closed):
                yield node.lineno, ast.unparse(stream)
            case ast.comprehension(is_async=1, iter=stream) if not (
                isinstance(stream, ast.Name) and stream.id in closed
            ):
                yield stream.lineno, ast.unparse(stream)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, closed)

    yield from visit(ast.parse(code), frozenset())


def test_every_stream_is_closed_by_its_reader() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {stream}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "async for" in (code := path.read_text())
        for line, stream in unclosed(code)
    ]
    assert found == [], "`async with closing(stream) as values: async for value in values`"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("async def f():\n async for x in g(): pass", 1),
        ("async def f(s):\n async with closing(s) as v:\n  async for x in v: pass", 0),
        ("async def f(s):\n async with closing(s) as v:\n  async for x in s: pass", 1),
        ("async def f(s):\n async with other(s) as v:\n  async for x in v: pass", 1),
        ("async def f(s):\n async with closing(s) as v: pass\n async for x in v: pass", 1),
        ("async def f(s):\n async with closing(s) as v:\n  async def g():\n   async for x in v: pass", 1),
        ("async def f(s):\n return [x async for x in s]", 1),
        ("async def f(s):\n async with closing(s) as v:\n  return [x async for x in v]", 0),
    ],
)
def test_a_stream_that_nobody_closes_is_seen(code: str, count: int) -> None:
    assert len(list(unclosed(code))) == count


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl as f\nf.flock(1, 2)",
        "from fcntl import lockf as lock",
        "loop.create_task(x)",
        "asyncio.ensure_future(x)",
    ],
)
def test_a_raw_call_is_seen_under_any_name(code: str) -> None:
    assert not {name for _, name in names(code)}.isdisjoint(LOCKING | TASKS)


@pytest.mark.parametrize(
    ("raw", "module"),
    [(LOCKING, "system/locked_file.py"), (TASKS, "core/tasks.py")],
    ids=["locking", "tasks"],
)
def test_raw_calls_are_made_in_one_module(raw: frozenset[str], module: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / module and any(name in (code := path.read_text()) for name in raw)
        for line, name in names(code)
        if name in raw
    ]
    assert found == [], f"only agentcli/{module} calls these"
    assert any(name in raw for _, name in names((PACKAGE / module).read_text()))

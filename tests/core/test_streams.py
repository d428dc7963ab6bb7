"""Streams are closed as soon as their reader leaves them, and are read in no other way."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentcli.core.streams import closing
from tests.tables import each_row

SOURCES = sorted((Path(__file__).parents[2] / "agentcli").rglob("*.py"))


def test_a_stream_that_reads_another_has_ended_with_it_when_its_reader_leaves() -> None:
    ended: list[str] = []

    async def inner() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            ended.append("inner")

    async def outer() -> AsyncIterator[int]:
        try:
            async with closing(inner()) as values:
                async for value in values:
                    yield value
        finally:
            ended.append("outer")

    async def story() -> None:
        async with closing(outer()) as values:
            async for _ in values:
                break
        assert ended == ["inner", "outer"]

    asyncio.run(story())


def test_a_stream_that_cannot_be_closed_is_left_alone() -> None:
    class Numbers:
        def __init__(self) -> None:
            self.left = [1, 2]

        def __aiter__(self) -> Numbers:
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    async def story() -> list[int]:
        async with closing(Numbers()) as values:
            return [value async for value in values]

    assert asyncio.run(story()) == [1, 2]


def raw_reads(tree: ast.AST, closed: frozenset[str] = frozenset()) -> Iterator[int]:
    """The lines that read a stream which is not that of an enclosing `async with closing(…) as NAME`, or close one in another way."""
    read: ast.expr | None = None
    match tree:
        case ast.AsyncWith(items=items):
            closed |= {
                item.optional_vars.id
                for item in items
                if isinstance(item.optional_vars, ast.Name) and _name_called(item.context_expr) == "closing"
            }
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            closed = frozenset()
        case ast.AsyncFor(iter=read):
            pass
        case ast.comprehension(iter=iterated, is_async=1):
            read = iterated
        case ast.Call(args=[iterated, *_]) if _name_called(tree) == "anext":
            read = iterated
        case ast.Name(id="aclosing", lineno=line):
            yield line
        case _:
            pass
    if read is not None and not (isinstance(read, ast.Name) and read.id in closed):
        yield read.lineno
    for child in ast.iter_child_nodes(tree):
        yield from raw_reads(child, closed)


def _name_called(call: ast.expr) -> str:
    return call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""


@pytest.mark.full
def test_streams_are_read_only_where_they_are_closed_too() -> None:
    raw = [f"{path}:{line}" for path in SOURCES for line in raw_reads(ast.parse(path.read_text()))]
    assert raw == [], "Read a stream by: async with closing(stream) as values: async for value in values."


@each_row(
    "code",
    [
        "async for value in stream(): pass",
        "async with aclosing(stream()) as values:\n  async for value in values: pass",
        "async with closing(stream()) as values:\n  async for value in others: pass",
        "[value async for value in stream()]",
        "await anext(values)",
        "async with closing(stream()) as values:\n  async def inner():\n    async for value in values: pass",
    ],
)
def test_a_raw_read_is_found(code: str) -> None:
    assert [*raw_reads(ast.parse(code))]

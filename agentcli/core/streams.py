"""Streams that end when their reader leaves. Does not import asyncio: adapters of providers load this at the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Generic, TypeVar

Value = TypeVar("Value")


class closing(Generic[Value]):
    """Close a stream when its reader leaves, also after an error.

    Use it as `async with closing(stream) as values: async for value in values`.

    Otherwise an abandoned generator continues later in its own task, with everything that it has started. A closed
    generator has ended, and so have the streams that it reads with `closing`. Streams that cannot be closed are left
    alone.
    """

    def __init__(self, stream: AsyncIterator[Value]) -> None:
        self._stream = stream

    async def __aenter__(self) -> AsyncIterator[Value]:
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()

"""Streams that end when their reader leaves them. Imports nothing of asyncio: adapters of providers load it at the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Generic, TypeVar

Value = TypeVar("Value")


class closing(Generic[Value]):
    """Close a stream when its reader leaves it, also by an error: `async with closing(stream) as values: async for value in values`.

    Without this, an abandoned generator continues later in a task of its own, with everything that it has begun. A closed generator has
    ended, and so have the streams that it reads with `closing`. A stream that cannot be closed is left alone.
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

"""A model whose key expires: each request takes a valid one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.core.streams import closing
from agentcli.providers.capable import WireModel


class RenewingModel:
    """A Model that is made again with each new key.

    `made` makes it from a key. `renewed` returns a valid key; it may wait for the network or another process.
    """

    def __init__(self, made: Callable[[str], WireModel], key: str, renewed: Callable[[], str]) -> None:
        self._made, self._key, self._renewed = made, key, renewed
        self._model = made(key)
        self._former: list[WireModel] = []
        """Models with earlier keys: a reply may still be streaming."""

    @property
    def spec(self) -> ModelSpec:
        """Spec of the model."""
        return self._model.spec

    def wire(self, request: Request) -> Mapping[str, Any]:
        """Return the body to send for this request."""
        return self._model.wire(request)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply like `Model.stream`, with a valid key."""
        model = await self._current()
        async with closing(model.stream(request)) as steps:
            async for step in steps:
                yield step

    async def count(self, request: Request) -> int | None:
        """Count tokens like `Model.count`, with a valid key."""
        return await (await self._current()).count(request)

    async def close(self) -> None:
        """Close the model, if it has anything open."""
        for model in (*self._former, self._model):
            if close := getattr(model, "close", None):
                await close()

    async def _current(self) -> WireModel:
        key = await asyncio.to_thread(self._renewed)
        if key != self._key:
            self._former.append(self._model)
            self._key, self._model = key, self._made(key)
        return self._model

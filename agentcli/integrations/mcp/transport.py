"""A transport of the SDK that tells when the server has gone, also while nobody calls it, and replaces content that the SDK does not know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from agentcli.core.sanitise import safe_line

_KNOWN = ("text", "image", "audio", "resource_link", "resource")
"""Kinds of content blocks in the result of a tool."""
_KIND_CHARACTERS = 80
"""Characters of the name of an unknown kind that are told."""


@asynccontextmanager
async def watched(transport: AbstractAsyncContextManager[Any], ended: asyncio.Event) -> AsyncIterator[Any]:
    """The transport, which sets `ended` when the server has closed its end."""
    async with transport as (reading, writing):
        yield _Watched(reading, ended), writing


class _Watched:
    """The reading end of a transport that tells when it has come to its end."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream, self._ended = stream, ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._ended.set()
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            received = await self._stream.__anext__()
        except BaseException:  # the end of the stream, its cancellation and any error of a transport: all mean the same
            self._ended.set()
            raise
        result = getattr(getattr(received, "message", None), "result", None)
        if isinstance(result, dict):
            _replace_unknown(result)
        return received


def _replace_unknown(result: dict[str, Any]) -> None:
    """Put a line of text in place of each content block of an unknown kind: the SDK would refuse the whole result."""
    blocks = result.get("content")
    if not isinstance(blocks, list):
        return
    for index, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind not in _KNOWN:
            text = f"[{safe_line(kind[:_KIND_CHARACTERS])}: left out, since this kind of content is not known]"
            blocks[index] = {"type": "text", "text": text}

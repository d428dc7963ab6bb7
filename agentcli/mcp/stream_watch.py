"""Watch over an SDK transport: reports the end of the server even between calls, and replaces content unknown to the SDK."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from agentcli.core.sanitise import safe_line

_KNOWN = ("text", "image", "audio", "resource_link", "resource")
"""Kinds of content blocks in the result of a tool."""
_KIND_CHARACTERS = 80
"""Length of the name of an unknown kind in a message, in characters."""
_ID = re.compile(r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')
_ENDS = 500
"""Number of characters at both ends of a message to search for its id if it is nested too deep to read."""


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[Any], ended: asyncio.Event, unreadable: Callable[[Exception], Any]
) -> AsyncIterator[Any]:
    """Open the transport; set `ended` when the server has closed its end.

    `unreadable` turns an unreadable message into its replacement.
    """
    async with transport as (reading, writing):
        yield _Watched(reading, ended, unreadable), writing


class _Watched:
    """Reading end of a transport that reports when it has ended."""

    def __init__(self, stream: Any, ended: asyncio.Event, unreadable: Callable[[Exception], Any]) -> None:
        self._stream, self._ended, self._unreadable = stream, ended, unreadable

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
        except BaseException:  # the end of the stream, its cancellation and any transport error all mean the same
            self._ended.set()
            raise
        if isinstance(received, Exception):
            return self._unreadable(received)
        result = getattr(getattr(received, "message", None), "result", None)
        if isinstance(result, dict):
            _replace_unknown(result)
        return received


def answered_request(line: str) -> int | str | None:
    """Return the id of the request that an unknown message answers; None if the line is not an answer."""
    try:
        found = json.loads(line)
        answered = found.get("id") if isinstance(found, dict) and not found.keys() & {"method"} else None
    except RecursionError:
        match = _ID.search(line[:_ENDS]) or _ID.search(line[-_ENDS:])
        answered = json.loads(match[1]) if match else None
    except ValueError:
        answered = None
    return answered if isinstance(answered, int | str) else None


def _replace_unknown(result: dict[str, Any]) -> None:
    """Replace each content block of an unknown kind by a line of text: the SDK would refuse the whole result."""
    blocks = result.get("content")
    if not isinstance(blocks, list):
        return
    for index, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind not in _KNOWN:
            text = f"[{safe_line(kind[:_KIND_CHARACTERS])}: left out, since this kind of content is not known]"
            blocks[index] = {"type": "text", "text": text}

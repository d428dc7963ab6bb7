"""Events of a stream, whatever the pieces in which they come."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

from agentcli.providers.http_body import event_data, uncommented
from tests.tables import each_row

STREAM = b': comment\r\nevent: e\r\ndata: {"a": 1}\r\n\r\ndata: {"b":\ndata: 2}\n\n'


def read(body: bytes, size: int) -> list[str]:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def collected() -> list[str]:
        return [data async for data in event_data(pieces())]

    return asyncio.run(collected())


@each_row("size", [1, 2, 7, len(STREAM)])
def test_the_data_of_events_is_the_same_in_pieces_of_any_size(size: int) -> None:
    assert read(STREAM, size) == ['{"a": 1}', '{"b":\n2}']


def test_an_event_that_is_cut_off_is_none() -> None:
    assert read(b'data: {"a": 1}\n\ndata: {"b"', 5) == ['{"a": 1}']


def test_a_stream_without_its_comments_is_not_kept_once_it_was_read() -> None:
    class Body:
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in (b": alive\nda", b"ta: 1\n\n"):
                yield piece

    async def pieces(stream: Any) -> bytes:
        return b"".join([piece async for piece in stream])

    body = Body()
    kept = weakref.ref(body)
    gc.disable()  # a cycle would keep it, and the request with it, until garbage is collected
    try:
        assert asyncio.run(pieces(uncommented(body))) == b"data: 1\n\n"
        del body
        assert kept() is None
    finally:
        gc.enable()

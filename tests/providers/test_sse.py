"""Events of a stream, whatever the pieces in which they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentcli.providers.sse import event_data

ERROR = '{\n  "error": {\n    "code": 503\n  }\n}'
STREAM = f': comment\r\nevent: e\r\ndata: {{"a": 1}}\r\n\r\n{ERROR}\ndata: {{"b": 2}}\n\n[3]'.encode()


def read(body: bytes, size: int, *, bare: bool) -> list[str]:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def collected() -> list[str]:
        return [data async for data in event_data(pieces(), bare=bare)]

    return asyncio.run(collected())


@pytest.mark.parametrize("size", [1, 2, 7, len(STREAM)])
def test_json_outside_of_events_is_read_in_its_place_where_it_is_asked_for(size: int) -> None:
    assert read(STREAM, size, bare=True) == ['{"a": 1}', ERROR, '{"b": 2}', "[3]"]
    assert read(STREAM, size, bare=False) == ['{"a": 1}', '{"b": 2}']


def test_an_event_that_is_cut_off_is_none() -> None:
    assert read(b'data: {"a": 1}\n\ndata: {"b"', 5, bare=True) == ['{"a": 1}']

"""Bodies of answers that do not end, or that drip: each is bounded in bytes and time, and the error says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentcli.core.errors import ModelError
from agentcli.providers.http_body import ALIVE, LONGEST_EVENT, Pace, event_data
from agentcli.providers.scripted.model import say
from tests.loopback import Bytes, Dribble, Endless, Loopback
from tests.providers.hearing import ALL, Heard, ask, connected, hear, request
from tests.tables import each_row

all_wires = pytest.mark.parametrize("name", ALL)
MEGABYTE = b"x" * 1_000_000


@all_wires
@pytest.mark.parametrize(
    "piece", [MEGABYTE, b'{"error": {"message": "signature api token count "}}' * 1000], ids=["bytes", "words"]
)
def test_a_refusal_without_end_is_read_for_its_beginning_only(name: str, piece: bytes) -> None:
    async def within(seconds: float) -> Heard:
        async with asyncio.timeout(seconds):
            model = connected(server, name)
            return await hear(model, request(model.spec, "hello"))

    with Loopback([Endless(piece, status=500, kind="application/json")]) as server:
        heard = asyncio.run(within(30))
    assert heard.error is not None
    assert (heard.error.cause, heard.error.status) == ("server", 500)
    assert len(str(heard.error)) < 1_000


@pytest.mark.full
@all_wires
def test_a_refusal_of_several_megabytes_in_one_message_is_named_by_its_status(name: str) -> None:
    body = b'{"error": {"message": "%b"}}' % (b"`signature` " * 70_000)
    heard, _ = ask(name, [Bytes(body, "application/json", 400)])
    assert heard.error is not None
    assert heard.error.status == 400


async def pieces(*given: bytes, times: int = 1) -> AsyncIterator[bytes]:
    for _ in range(times):
        for piece in given:
            yield piece


@pytest.mark.parametrize("given", [(MEGABYTE,), (b"data: " + MEGABYTE + b"\n",)], ids=["one line", "many lines"])
def test_an_event_without_end_is_refused_in_words(given: tuple[bytes, ...]) -> None:
    async def read() -> None:
        async for _ in event_data(pieces(*given, times=LONGEST_EVENT // len(MEGABYTE) + 1)):
            pass

    with pytest.raises(ModelError, match=r"an event of more than 64 MB, .* check base_url") as raised:
        asyncio.run(read())
    assert not raised.value.retryable


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ends_after(piece: bytes, every: float, seconds: float, *, events: bool = True) -> float | None:
    """The seconds after which a body that repeats a piece counts as dropped; None if it does not within that time."""
    clock = Clock()
    pace = Pace("host", 300.0, events, 10**12, clock)
    while clock.now < seconds:
        clock.now += every
        try:
            pace.take(piece)
        except ModelError:
            return clock.now
    return None


@each_row(
    ("piece", "every", "ends"),
    [
        (b"x", 1.0, 301.0),
        (b"data: x" * 10, 1.0, 301.0),
        (b"\n", 1.0, 301.0),
        (b": alive\n\n", 10.0, 300.0 * ALIVE + 10),
        (b":", 1.0, 301.0),
    ],
)
def test_what_drips_without_a_whole_event_is_dropped_after_the_idle_limit(
    piece: bytes, every: float, ends: float
) -> None:
    assert ends_after(piece, every, 4_000) == ends


@each_row(
    ("piece", "every"),
    [
        (b'event: ping\ndata: {"type": "ping"}\n\n', 200.0),
        (b"data: x\n\n", 299.0),
        (b"x" * 2_000, 5.0),
        (b": alive\r\n\r\ndata: x\r\n\r\n", 250.0),
        (b"da" + b"ta: x\n\nda", 100.0),
    ],
)
def test_what_comes_slowly_and_whole_is_not_dropped(piece: bytes, every: float) -> None:
    assert ends_after(piece, every, 20_000) is None


def test_a_body_that_is_not_a_stream_must_come_at_a_pace() -> None:
    assert ends_after(b"x", 1.0, 4_000, events=False) == 301.0
    assert ends_after(b"x" * 1_000, 1.0, 4_000, events=False) is None


@all_wires
def test_a_reply_byte_by_byte_is_whole_and_a_drip_without_an_event_is_ended(name: str) -> None:
    heard, _ = ask(name, [Dribble(say("Hello."))])
    assert (heard.text, heard.error) == ("Hello.", None)

    async def dripped() -> Heard:
        model = connected(server, name, idle_timeout=0.3)
        return await hear(model, request(model.spec, "hello"))

    with Loopback([Endless(b"x", pause=0.02)]) as server:
        heard = asyncio.run(dripped())
    assert heard.error is not None
    assert heard.error.cause == "network"
    assert "sent nothing whole for 0.3 s" in str(heard.error)


# Events of a stream, whatever the pieces in which they come.


STREAM = b': comment\r\nevent: e\r\ndata: {"a": 1}\r\n\r\ndata: {"b":\ndata: 2}\n\n'


def read(body: bytes, size: int, bare: list[bytearray] | None = None) -> list[str]:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def collected() -> list[str]:
        return [data.pop().decode() async for data in event_data(pieces(), bare)]

    return asyncio.run(collected())


@each_row("size", [1, 2, 7, len(STREAM)])
def test_the_data_of_events_is_the_same_in_pieces_of_any_size(size: int) -> None:
    assert read(STREAM, size) == ['{"a": 1}', '{"b":\n2}']


def test_an_event_that_is_cut_off_is_none() -> None:
    assert read(b'data: {"a": 1}\n\ndata: {"b"', 5) == ['{"a": 1}']


BARE = b': comment\ndata: {"a": 1}\n\nretry: 5\n{\n  "error": 3\r\n}\n'


@each_row("size", [1, 2, 7, len(BARE)])
def test_lines_that_belong_to_no_event_are_told_apart(size: int) -> None:
    bare: list[bytearray] = []
    assert read(BARE, size, bare) == ['{"a": 1}']
    assert bare == [b"{", b'  "error": 3', b"}"]


def test_where_bare_lines_are_read_the_last_line_needs_no_end() -> None:
    bare: list[bytearray] = []
    assert read(b'data: {"a": 1}\n\ndata: {"b": 2}', 5, bare) == ['{"a": 1}', ' {"b": 2}']
    assert read(b"{}", 1, bare) == []
    assert bare == [b"{}"]

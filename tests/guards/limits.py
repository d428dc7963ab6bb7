"""Limits of size and time: what has no end is bounded; what is merely large passes whole.

Stopped: a person is asked, or it becomes a file; a body or an event is refused or cut. Hindered: that happens to something that people really sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence

import httpx2

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import View
from agentcli.context.window import oversize, window_of
from agentcli.core.errors import ModelError
from agentcli.core.model import ModelSpec
from agentcli.providers.http_body import bounded, event_data
from agentcli.tools.registry import TRAITS
from tests.guards import Figures, material

ENDLESS = 200_000_000
"""Bytes after which a body counts as read without a bound."""


def figures() -> Iterator[Figures]:
    """Measure each limit on the same recorded sizes."""
    found = material("large_inputs")
    sizes = {kind: [(lines, characters) for lines, characters in each] for kind, each in found["good"].items()}
    for kind in ("prompts", "summaries"):
        for window in (200_000, 968_000):
            yield _inputs(f"{kind} in a window of {window:,}", [*map(_text, sizes[kind])], window)
    events = [json.dumps({"text": _text(size)}).encode() for size in sizes["tool results"]]
    endless = [asyncio.run(_is_refused(_repeated(event))) for event in events[:20]]
    refused = [asyncio.run(_is_refused(_whole(b"data: " + event + b"\n\n"))) for event in events]
    yield Figures(
        "events of a reply",
        sum(endless),
        len(endless),
        sum(refused),
        len(refused),
        "results of tools, each as an event; bad: repeated without a line end",
    )
    bodies = [
        case["text"].encode()
        for half in ("tuned", "unseen")
        for kind in ("bad", "good")
        for case in material(f"capabilities_{half}")[kind]
    ]
    read = [asyncio.run(_read(_whole(body))) for body in bodies]
    without_end = [asyncio.run(_read(_repeated(body))) for body in bodies[:20]]
    yield Figures(
        "refusals of a server", sum(size < ENDLESS for size in without_end), len(without_end),
        sum(size != len(body) for size, body in zip(read, bodies, strict=True)), len(bodies), "error texts of the material on capabilities; bad: repeated without end",
    )  # fmt: skip


def _inputs(name: str, texts: Sequence[str], size: int) -> Figures:
    """Input beside an empty conversation; bad is the same one until it exceeds the window."""
    window = window_of(View(()), ModelSpec("demo", "m", window=size), TokenCounter(), ContextSettings(), TRAITS)
    hindered = sum(bool(oversize({0: text}, window)) for text in texts)
    beyond = [text * (4 * size // len(text) + 1) for text in texts[:20]]
    stopped = sum(bool(oversize({0: text}, window)) for text in beyond)
    return Figures(
        name,
        stopped,
        len(beyond),
        hindered,
        len(texts),
        "sizes in recorded sessions of two public repositories; bad: repeated until no window holds it",
    )


def _text(size: tuple[int, int]) -> str:
    """A text of so many lines and characters."""
    lines, characters = size
    width = max(1, characters // lines - 1)
    return ("word " * (width // 5 + 1))[:width].join(["\n"] * lines) or "word"


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 65_536):
        yield data[start : start + 65_536]


async def _repeated(data: bytes) -> AsyncIterator[bytes]:
    piece = data * (1_000_000 // len(data) + 1)
    for _ in range(ENDLESS // len(piece) + 1):
        yield piece


async def _is_refused(pieces: AsyncIterator[bytes]) -> bool:
    try:
        async for _ in event_data(pieces):
            pass
    except ModelError:
        return True
    return False


class _Body(httpx2.AsyncByteStream):
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """Nothing is open."""


async def _read(pieces: AsyncIterator[bytes]) -> int:
    """The bytes that are read of a refusal."""
    response = httpx2.Response(500, stream=_Body(pieces), request=httpx2.Request("POST", "http://host"))
    bounded(response, 300.0)
    return len(await response.aread())

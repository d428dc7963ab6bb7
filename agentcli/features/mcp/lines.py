"""Limit on messages of MCP servers, in a program's output and in responses.

The SDK joins the pieces of a line without a limit, and searches all of it again at each piece. The codec here gives it whole
lines, in linear time.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from agentcli.core.streams import closing

ENCODING = "utf_8_whole_lines"
"""Name of the codec."""
LONGEST = 64_000_000
"""Maximum bytes of one message. In base64, the largest data that is kept takes about half of it."""
TOO_MUCH = f"more than {LONGEST // 1_000_000} MB in one message; ask it for less, such as a part or a page"
"""What a server sent that exceeds the limit, as the end of a sentence."""
TOO_LONG = "agentcli/too_long"
"""Method of the notification that replaces a longer message and everything after it."""
_INSTEAD = f'{{"jsonrpc":"2.0","method":"{TOO_LONG}"}}\n'


class _WholeLines(codecs.IncrementalDecoder):
    """Decoder that keeps the bytes of an unfinished line. After a message that is too long, it discards everything."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._unfinished, self._ended = bytearray(), False

    def decode(self, data: Any, final: bool = False) -> str:
        """Return the lines that end in this piece. An unfinished last line is not a message."""
        if self._ended:
            return ""
        end = data.rfind(b"\n") + 1
        if len(self._unfinished) + (data.find(b"\n") if end else len(data)) > LONGEST:
            self._unfinished, self._ended = bytearray(), True
            return _INSTEAD
        lines = self._unfinished
        if not end:
            lines += data
            return ""
        lines += data[:end]
        self._unfinished = bytearray(data[end:])
        return lines.decode("utf-8", self.errors)


def _codec(name: str) -> codecs.CodecInfo | None:
    if name != ENCODING:
        return None
    return codecs.CodecInfo(codecs.utf_8_encode, codecs.utf_8_decode, incrementaldecoder=_WholeLines, name=ENCODING)


codecs.register(_codec)


class Limited(httpx2.AsyncByteStream):
    """Body of a response with a limit on its bytes, which it unpacks: a kilobyte may become a megabyte."""

    def __init__(self, response: httpx2.Response, most: int = LONGEST) -> None:
        self._stream: Any = response.stream
        self._most = most
        self._packed = response.headers.pop("Content-Encoding", "identity").lower()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._packed not in ("gzip", "identity"):
            raise httpx2.StreamError(f"the response is in {self._packed}, which was not asked for")
        left, unpacker = self._most, zlib.decompressobj(zlib.MAX_WBITS | 16)
        async with closing(aiter(self._stream)) as pieces:
            async for piece in pieces:
                body = piece if self._packed == "identity" else _unpacked(unpacker, piece, left + 1)
                left -= len(body)
                if left < 0:
                    raise httpx2.StreamError(TOO_MUCH if self._most == LONGEST else f"more than {self._most:,} bytes")
                yield body

    async def aclose(self) -> None:
        await self._stream.aclose()


def _unpacked(unpacker: Any, piece: bytes, most: int) -> bytes:
    try:
        return bytes(unpacker.decompress(piece, most))
    except zlib.error as error:
        raise httpx2.StreamError(f"the response is damaged: {error}") from None

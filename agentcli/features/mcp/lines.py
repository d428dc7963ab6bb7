"""Limit on messages of MCP servers, and the codec with which the SDK reads a program's output within it.

The SDK joins the pieces of a line without a limit, and searches all of it again at each piece. This codec gives it whole
lines, in linear time.
"""

from __future__ import annotations

import codecs
from typing import Any

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

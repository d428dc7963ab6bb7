"""A picture as a screenshot is: of many bytes."""

from __future__ import annotations

import random
import struct
import zlib


def screenshot(seed: int, width: int = 160, height: int = 100) -> bytes:
    """A picture of noise, by default of about 48 kB."""
    rows = b"".join(b"\0" + random.Random(seed * 1_000 + row).randbytes(3 * width) for row in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

"""Dimensions of an image, read from its first bytes, and its cost in tokens."""

from __future__ import annotations

import base64
import binascii
import struct

from agentcli.core.images import mime_of
from agentcli.core.message import Image

PATCH = 28
"""Side of the square of pixels that is one token (Anthropic's rule)."""
MOST = 1_568
"""Larger pictures are scaled down to this many tokens; newer models take up to 4,784."""
UNKNOWN = 1_500
"""Assumed tokens of a picture of unreadable size."""


def image_tokens(image: Image) -> int:
    """Return the tokens of a picture."""
    size = dimensions(image)
    if size is None:
        return UNKNOWN
    width, height = size
    return min(MOST, max(1, -(-width // PATCH) * -(-height // PATCH)))


def dimensions(image: Image) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, WebP or JPEG, or None if they cannot be read."""
    try:
        head = base64.b64decode(image.data[:65_536], validate=False)
        return _read(head)
    except (binascii.Error, ValueError, struct.error):
        return None


def _read(head: bytes) -> tuple[int, int] | None:
    match mime_of(head):
        case "image/png":
            width, height = struct.unpack(">II", head[16:24])
            return int(width), int(height)
        case "image/gif":
            width, height = struct.unpack("<HH", head[6:10])
            return int(width), int(height)
        case "image/webp" if head[12:16] == b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case "image/jpeg":
            return _jpeg(head)
        case _:
            return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return int(width), int(height)
        at += 2 + length
    return None

"""Images by their own formats: kind, size in pixels, and defects that a provider would refuse."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from agentcli.core.dataclass import dataclass

ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
"""Kinds of images that models read, with their file extensions."""
IMAGE_BYTES = 5_000_000
"""Largest image that both providers accept (Anthropic: 5 MB an image)."""
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def mime_of(data: bytes) -> str:
    """Return the MIME type of an image that models read, by its first 12 bytes; empty for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for begins, mime in _BEGINNINGS.items() if data.startswith(begins)), "")


def pixels_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height of an image in pixels from its first bytes, or None if they cannot be read."""
    try:
        match mime_of(data):
            case "image/png":
                width, height = struct.unpack(">II", data[16:24])
                return int(width), int(height)
            case "image/gif":
                width, height = struct.unpack("<HH", data[6:10])
                return int(width), int(height)
            case "image/webp":
                return _webp(data)
            case "image/jpeg":
                return _jpeg(data)
            case _:
                return None
    except struct.error:
        return None


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Largest image that a provider accepts: bytes in base64, and pixels on a side. 0: no known limit."""

    encoded: int = 0
    side: int = 0


LIMITS: Mapping[str, ImageLimits] = MappingProxyType(
    {"anthropic": ImageLimits(10 * 1024 * 1024, 8_000), "google": ImageLimits(20 * 1024 * 1024)}
)
"""By provider kind, as on the vendors' pages on images in November 2026 (Google: of a whole request)."""


STRICTEST = ImageLimits(side=8_000)
"""Pixels on a side that every provider accepts."""


def excess(encoded: str, limits: ImageLimits) -> str:
    """Return briefly how an image in base64 exceeds these limits; empty if it does not, or if that is unknown."""
    if limits.encoded and len(encoded) > limits.encoded:
        return f"it has {len(encoded):,} bytes in base64, and {limits.encoded:,} is the maximum"
    size = pixels_of(decoded(encoded[:_HEAD]) or b"") if limits.side else None
    if size is None or max(size) <= limits.side:
        return ""
    return f"it has {size[0]:,} × {size[1]:,} pixels, and {limits.side:,} on a side is the maximum"


def damage(data: bytes) -> str:
    """Return briefly why no provider can read an image; empty if its format is intact."""
    mime = mime_of(data)
    if not mime:
        return "its format is not PNG, JPEG, GIF or WebP" if data else "it is empty"
    if why := _damage(mime, data):
        return why
    size = pixels_of(data)
    # An unknown size proves nothing: a decoder may still find it.
    return "" if size is None or all(size) else "it has no pixels"


def damage_of(encoded: str) -> str:
    """Return the damage of an image in base64."""
    data = decoded(encoded)
    return "its data is not base64" if data is None else damage(data)


def decoded(encoded: str) -> bytes | None:
    """Return the bytes of an image in base64; None if it is something else."""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


_HEAD = 65_536
"""Characters of an image in base64 that contain its size, a multiple of four."""


def _damage(mime: str, data: bytes) -> str:
    """Return the missing part of a file of this kind. Bytes after its end do not matter."""
    match mime:
        case "image/png":
            return _png_damage(data)
        case "image/webp":
            return "it is cut off" if len(data) < 8 + int.from_bytes(data[4:8], "little") else ""
        case "image/jpeg":
            return "" if b"\xff\xd9" in data[2:] else "it is cut off"
        case _:
            return "" if b"\x3b" in data[13:] else "it is cut off"


def _png_damage(data: bytes) -> str:
    seen: list[bytes] = []
    pixels = zlib.decompressobj()
    for kind, content, checksum in _chunks(data):
        if zlib.crc32(kind + content) != checksum:
            return "it is damaged"
        seen.append(kind)
        if kind == b"IDAT" and not _inflates(pixels, content):
            return "it is damaged"
    if b"IHDR" in seen[:1] and b"IDAT" in seen and seen[-1] == b"IEND" and pixels.eof:
        return ""
    return "it is cut off"


def mended(data: bytes) -> bytes:
    """Return a PNG without damaged chunks that its pixels do not need, such as a colour profile; other data unchanged."""
    if mime_of(data) != "image/png":
        return data
    chunks = [(kind, content, checksum, zlib.crc32(kind + content)) for kind, content, checksum in _chunks(data)]
    # The name of such a chunk begins with a small letter. Some decoders refuse the image because of it.
    kept = [
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
        for kind, content, checksum, right in chunks
        if checksum == right or kind[:1].isupper()
    ]
    return data[:8] + b"".join(kept) if len(kept) < len(chunks) else data


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    at = 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + length > len(data):
            return
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        yield kind, content, int.from_bytes(data[at + 8 + length : at + 12 + length], "big")
        if kind == b"IEND":
            return
        at += 12 + length


_AT_ONCE = 1 << 20
"""Bytes of pixels that are held at once."""


def _inflates(pixels: zlib._Decompress, content: bytes) -> bool:
    """Return True if the data continues the compressed pixels; the pixels are discarded piece by piece."""
    try:
        while content and not pixels.eof:
            pixels.decompress(content, _AT_ONCE)
            content = pixels.unconsumed_tail
        return True
    except zlib.error:
        return False


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


_WITHOUT_SIZE = (0xC4, 0xC8, 0xCC)
"""JPEG markers in the range of frames that do not begin a frame."""


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _WITHOUT_SIZE:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return int(width), int(height)
        at += 2 + length
    return None

"""The size of a picture is read from its first bytes, and its tokens are patches of 28 by 28 pixels."""

from __future__ import annotations

import base64
import struct

import pytest

from agentcli.context.tokens.image_tokens import dimensions, image_tokens
from agentcli.core.message import Image
from tests.tables import each_row


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(width: int, height: int) -> bytes:
    """The extended form, whose canvas is stored as three bytes for each side less one."""
    side = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0" + side


def jpeg(width: int, height: int, frame: int = 0xC0) -> bytes:
    """Two other segments, a Huffman table, then the frame; its height comes first."""
    application = b"\xff\xe0\0\x10JFIF\0" + b"\1\1\0\0\1\0\1\0\0"
    table = b"\xff\xc4\0\x05\0\0\0"
    return b"\xff\xd8" + application + table + struct.pack(">BBHBHH", 0xFF, frame, 17, 8, height, width) + b"\3" * 10


def image(data: bytes) -> Image:
    return Image("image/png", base64.b64encode(data).decode())


@pytest.mark.parametrize("made", [png, gif, webp, jpeg])
@each_row("size", [(640, 480), (1, 2), (300, 5_000), (65_535, 256)])
def test_width_and_height_are_read_whatever_the_kind(made: object, size: tuple[int, int]) -> None:
    assert dimensions(image(made(*size))) == size  # type: ignore[operator]


@each_row("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCF])
def test_every_frame_of_a_jpeg_has_its_size(frame: int) -> None:
    assert dimensions(image(jpeg(30, 40, frame))) == (30, 40)


@each_row(
    "data",
    [b"", b"text", png(3, 4)[:20], gif(3, 4)[:8], jpeg(3, 4)[:30], webp(3, 4)[:15], b"\xff\xd8\xff\xd9" + b"\0" * 20],
)
def test_a_picture_cut_short_has_no_size_and_is_taken_for_a_large_one(data: bytes) -> None:
    assert dimensions(image(data)) is None
    assert image_tokens(image(data)) == 1_500


@each_row(
    ("size", "tokens"),
    [
        ((28, 28), 1),
        ((29, 28), 2),
        ((28, 57), 3),
        ((56, 56), 4),
        ((1, 1), 1),
        ((1_092, 1_092), 1_521),
        ((5_000, 5_000), 1_568),
    ],
)
def test_a_picture_costs_a_token_for_each_patch_up_to_the_most(size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(image(png(*size))) == tokens


def test_what_is_no_base64_has_no_size() -> None:
    assert dimensions(Image("image/png", "!")) is None

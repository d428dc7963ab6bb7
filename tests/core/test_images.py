from __future__ import annotations

import base64
import struct

from agentcli.core.images import ENDINGS, IMAGE_BYTES, LIMITS, damage, damage_of, excess, mended, mime_of
from tests.tables import each_row


@each_row(
    ("data", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"GIF87a....", "image/gif"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
        (b"RIFF....AVI LIST", ""),
        (b"GIF8 is a word", ""),
        (b"", ""),
    ],
)
def test_a_picture_is_what_its_first_bytes_say(data: bytes, mime: str) -> None:
    assert mime_of(data) == mime


def test_both_providers_accept_images_of_five_megabytes() -> None:
    """In the decimal unit of the documentation, and only of these kinds."""
    assert IMAGE_BYTES == 5_000_000
    assert ENDINGS == {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


@each_row("data", [b"RIFF....WEBP", b"RIFX....WEBP", b"RIFF...WEBP.", b"xRIFF....WEBP"])
def test_a_webp_has_both_of_its_words_in_their_places(data: bytes) -> None:
    assert mime_of(data) == ("image/webp" if data == b"RIFF....WEBP" else "")


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


PROFILE = b"\x00\x00\x00\x02iCCPab\x00\x00\x00\x00"
"""A colour profile with a wrong checksum, as in the image of MCP's reference server."""


def test_a_damaged_chunk_that_the_pixels_do_not_need_is_left_out() -> None:
    broken = PIXEL[:33] + PROFILE + PIXEL[33:]
    assert (damage(broken), mended(broken)) == ("it is damaged", PIXEL)
    for other in (PIXEL, PIXEL.replace(b"\x00\x01", b"\x00\x02", 1), PIXEL[:-1], b"GIF89a....", b""):
        assert mended(other) == other


@each_row(
    ("data", "why"),
    [
        (PIXEL, ""),
        (PIXEL + b"more", ""),
        (PIXEL[:-1], "it is cut off"),
        (PIXEL.replace(b"\x00\x01", b"\x00\x02", 1), "it is damaged"),
        (b"", "it is empty"),
        (b"<svg/>", "its format is not PNG, JPEG, GIF or WebP"),
        (b"GIF89a\0\0\0\0\0\0\0;", "it has no pixels"),
        (b"RIFF\xff\0\0\0WEBPVP8X", "it is cut off"),
    ],
)
def test_an_image_is_judged_by_its_own_format(data: bytes, why: str) -> None:
    assert damage(data) == why
    assert damage_of(base64.b64encode(data).decode()) == why


def test_a_provider_has_limits_of_bytes_and_pixels() -> None:
    wide = base64.b64encode(PIXEL[:16] + struct.pack(">II", 9_000, 10) + PIXEL[24:]).decode()
    assert excess(wide, LIMITS["anthropic"]) == "it has 9,000 × 10 pixels, and 8,000 on a side is the maximum"
    assert excess("A" * 10_485_761, LIMITS["anthropic"]).startswith("it has 10,485,761 bytes in base64")
    assert excess(wide, LIMITS["google"]) == ""
    assert excess(base64.b64encode(PIXEL).decode(), LIMITS["anthropic"]) == ""

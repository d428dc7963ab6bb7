from __future__ import annotations

import pytest

from agentcli.core.images import ENDINGS, IMAGE_BYTES, mime_of


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("data", [b"RIFF....WEBP", b"RIFX....WEBP", b"RIFF...WEBP.", b"xRIFF....WEBP"])
def test_a_webp_has_both_of_its_words_in_their_places(data: bytes) -> None:
    assert mime_of(data) == ("image/webp" if data == b"RIFF....WEBP" else "")

from __future__ import annotations

import pytest

from agentcli.core.images import mime_of


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

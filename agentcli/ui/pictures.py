"""Which kind of picture some bytes are: a wrong name must not reach a provider, which would refuse the session from then on."""

from __future__ import annotations

ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def mime_of(data: bytes) -> str:
    """The MIME type of a picture that models read; empty for anything else."""
    beginnings = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for begins, mime in beginnings.items() if data.startswith(begins)), "")

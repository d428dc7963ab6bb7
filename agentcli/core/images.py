"""MIME type of an image by its first bytes: a wrong name must not reach a provider, which would refuse the session from then on."""

from __future__ import annotations

ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
"""The kinds of images that models read, with the endings of their files."""
IMAGE_BYTES = 5_000_000
"""The largest image that both providers accept (Anthropic: 5 MB an image)."""
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

"""Smaller copies of images, made by Pillow if the extra `images` is installed."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec

SIDE = 2_000
"""Pixels on the longest side of a copy: models scale larger images down to about this size."""
_QUALITY = 85


def can_shrink() -> bool:
    """Return True if Pillow is installed."""
    return find_spec("PIL") is not None


def smaller(data: bytes, most: int) -> bytes | None:
    """Return a copy of an image of at most `most` bytes and `SIDE` pixels on a side.

    Return None without Pillow, or if it fails.
    """
    if not can_shrink():
        return None
    pillow = import_module("PIL.Image")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            image.thumbnail((SIDE, SIDE))
            for form, opaque in (("PNG", image), ("JPEG", image.convert("RGB"))):
                written = io.BytesIO()
                opaque.save(written, form, quality=_QUALITY)
                if written.tell() <= most:
                    return written.getvalue()
    except (
        OSError,
        ValueError,
        SyntaxError,
        pillow.DecompressionBombError,
    ):  # Pillow's errors for files that it cannot read
        return None
    return None

"""Dimensions of an image, and its cost in tokens."""

from __future__ import annotations

import base64
import binascii

from agentcli.core.images import pixels_of
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
        return pixels_of(base64.b64decode(image.data[:65_536], validate=False))
    except (binascii.Error, ValueError):
        return None

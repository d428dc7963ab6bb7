"""What the vendors say of images that they cannot read."""

from __future__ import annotations

import base64
import binascii

BEGINNINGS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
ENDS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b"\x3b", "image/webp": b""}


def kind_of(data: bytes) -> str:
    """The kind of a picture by how it begins."""
    return next((kind for begin, kind in BEGINNINGS.items() if data.startswith(begin)), "")


def unreadable(encoded: str) -> bool:
    """True for a picture that is none, or that breaks off."""
    try:
        data = base64.b64decode(encoded.translate(str.maketrans("-_", "+/")), validate=True)
    except binascii.Error:
        return True
    kind = kind_of(data)
    return not kind or not data.endswith(ENDS[kind])

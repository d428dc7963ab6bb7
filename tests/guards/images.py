"""Limits of images: an image that its own format shows to be broken is not sent; any that a decoder reads is.

The pictures are ones that Pillow writes, and their first halves; it reads each whole one, and none of the halves.
"""

from __future__ import annotations

from agentcli.core.images import damage_of
from tests.guards import Figures, material


def figures() -> list[Figures]:
    """Measure whole pictures, and halves."""
    found = material("images")
    stopped = sum(bool(damage_of(data)) for data in found["bad"])
    hindered = sum(bool(damage_of(data)) for data in found["good"])
    return [Figures("images", stopped, len(found["bad"]), hindered, len(found["good"]), found["source"])]

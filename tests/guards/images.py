"""Limits of images: an image that its own format shows to be broken is not sent; any that a decoder reads is.

Whether a decoder reads an image was found out once, by Pillow, for its own test images and for their first halves.
"""

from __future__ import annotations

from agentcli.core.images import damage_of
from tests.guards import Figures, material


def figures() -> list[Figures]:
    """Measure both halves."""
    rows = []
    for half in ("tuned", "unseen"):
        found = material(f"images_{half}")
        stopped = sum(bool(damage_of(data)) for data in found["bad"])
        hindered = sum(bool(damage_of(data)) for data in found["good"])
        rows.append(
            Figures(f"images, {half} half", stopped, len(found["bad"]), hindered, len(found["good"]), found["source"])
        )
    return rows

"""Redaction of error texts: keys of public formats do not show, and ordinary texts lose no word.

Stopped: nothing of a key of the format is left but a part that all keys share. Hindered: a text changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.core.text.secrets import mask
from agentcli.providers.http import scrubbed
from tests.guards import Figures, material

_TEXTS = ("Incorrect API key provided: {}. Check it.", "401 for url: https://example.com/v1?x={}&y=1", "sent: {}")


def figures() -> Iterator[Figures]:
    """Measure a random key of each format, the configured key, and ordinary texts beside keys that are words."""
    found = material("redaction")
    # In halves, so that no scanner takes an example for a leaked key.
    keys = [first + second for first, second in found["bad"].values()]
    shown = [(key, text.format(key)) for key in keys for text in _TEXTS]
    good: list[str] = found["good"]
    yield Figures(
        "keys of known formats in a log", sum(key[-12:] not in mask(text) for key, text in shown), len(shown),
        sum(mask(text) != text for text in good), len(good),
        "a random example of each of 38 formats that gitleaks/gitleaks lists; error texts of sessions in three public repositories, own words replaced",
    )  # fmt: skip
    beside = [(key, text) for key in found["keys"] for text in good]
    yield Figures(
        "the configured key in an error", sum(key[-12:] not in scrubbed(text, key) for key, text in shown), len(shown),
        sum(scrubbed(text, key) != scrubbed(text, None) for key, text in beside), len(beside),
        "the same; good beside the short keys that documentation of local servers gives as examples",
    )  # fmt: skip

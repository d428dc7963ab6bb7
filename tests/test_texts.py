"""The texts that reach people."""

from __future__ import annotations

from tests.texts import texts

ODD = (
    "anew",
    "ut back",
    "of yours",
    " goes on ",
    "Mend it",
    "mend it",
    "Say another",
    "Set it anew",
    "tells of",
    "for the word",
    "?.",
)
"""What a native reader stumbles over."""


def test_no_text_has_an_odd_turn() -> None:
    known = list(texts())
    assert len(known) > 300
    assert not [(file, line, text) for file, line, text in known if any(odd in text for odd in ODD)]

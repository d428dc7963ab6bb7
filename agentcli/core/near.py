"""Names that look like one that is not known, for messages to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NEAREST = 3
"""Names that a message offers at most."""


def near_names(name: str, known: Iterable[str], likeness: float = 0.5) -> list[str]:
    """The nearest known names, best first; `likeness`, from 0 to 1, is how much of a name must agree."""
    import difflib  # only a mistake needs it

    return difflib.get_close_matches(name, list(known), NEAREST, likeness)


def did_you_mean(near: Sequence[str]) -> str:
    """A question to follow a sentence; empty where nothing is near."""
    return f" Did you mean {' or '.join(near)}?" if near else ""

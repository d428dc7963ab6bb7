"""Words for people: counts, elapsed times, names like an unknown one, a slash command and its argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def plural(count: int, noun: str) -> str:
    """`1 line`, `2,000 lines`, `3 processes`, `4 matches`, `5 entries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "ch")):
        return f"{count:,} {noun}es"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{count:,} {noun}s"


def name_and_argument(line: str) -> tuple[str, str]:
    """Return the name and the argument of a line `/name argument`; either may be empty."""
    name, *rest = line.strip().removeprefix("/").split(None, 1) or [""]
    return name, rest[0].strip() if rest else ""


NEAREST = 3
"""Maximum number of names that a message offers."""
ALIKE = 0.7
"""Likeness of a name that a person probably meant."""


def near_names(name: str, known: Iterable[str], likeness: float = 0.5) -> list[str]:
    """Return the nearest known names, best first.

    `likeness`, from 0 to 1, is the share of a name that must agree.
    """
    import difflib  # only a mistake needs it

    return difflib.get_close_matches(name, list(known), NEAREST, likeness)


def did_you_mean(near: Sequence[str]) -> str:
    """Return a question to append to a sentence; empty if no name is near."""
    if not near:
        return ""
    return f" Did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}?"


def one_letter_off(name: str, other: str) -> bool:
    """Return True if one name becomes the other by adding, removing or replacing one letter, or by swapping two
    neighbours.
    """
    if name == other:
        return False
    short, long = sorted((name, other), key=len)
    at = next((n for n, (one, two) in enumerate(zip(short, long, strict=False)) if one != two), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    return short[at + 1 :] == long[at + 1 :] or (
        short[at + 1] + short[at] == long[at : at + 2] and short[at + 2 :] == long[at + 2 :]
    )


def ago(seconds: float) -> str:
    """Return an elapsed time as text: `just now`, `5 min ago`, `3 h ago`, `2 days ago`."""
    for size, unit in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (unit == 'day' and count > 1)} ago"
    return "just now"

"""Words for people: counts, elapsed times, names like an unknown one, a slash command and its argument, pasted images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence


def plural(count: int, noun: str) -> str:
    """`1 line`, `2,000 lines`, `3 processes`, `4 matches`, `5 entries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "ch")):
        return f"{count:,} {noun}es"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{count:,} {noun}s"


def none_of(things: str, topic: str) -> str:
    """Return the text for an empty list: `No plugins. See `agentcli help plugins`.`"""
    return f"No {things}. See `agentcli help {topic}`."


def name_and_argument(line: str) -> tuple[str, str]:
    """Return the name and the argument of a line `/name argument`; either may be empty."""
    name, *rest = line.strip().removeprefix("/").split(None, 1) or [""]
    return name, rest[0].strip() if rest else ""


PASTED = "pictures"
"""Folder of the images that were pasted, each named after its content."""
PASTED_IMAGE = re.compile(rf"""(?:@"[^"\n]*|@?[^\s"']*)/{PASTED}/([0-9a-f]{{12}})\.(?:png|jpg|gif|webp)"?""")


def labelled(text: str, numbers: dict[str, int] | None = None) -> str:
    """Return a text with `[Image #1]` for the path of the first image that was pasted, and so on.

    `numbers` has the numbers by name of earlier images, and gets those of new ones; None begins with 1.
    """
    known = {} if numbers is None else numbers
    return PASTED_IMAGE.sub(lambda found: f"[Image #{known.setdefault(found[1], len(known) + 1)}]", text)


NEAREST = 3
"""Maximum number of names that a message offers."""


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a person may have meant, the nearest only; none if none is near.

    A third of the letters may differ, at least one. The last part of a dotted name, with one difference, and the
    beginning of a name also stand for it.
    """
    wanted, names = _plain(name), [*dict.fromkeys(known)]
    near = _nearest(wanted, {each: _plain(each) for each in names}, max(1, len(wanted) // 3))
    if not near and not re.search(r"[./]", name):
        near = _nearest(wanted, {each: re.split(r"[./]", _plain(each))[-1] for each in names}, 1)
    if not near and len(wanted) >= NEAREST:
        near = [each for each in names if _plain(each).startswith(wanted)]
    return near[:NEAREST]


def is_slip(name: str, other: str) -> bool:
    """Return True if two names differ in one letter, or in two neighbours that are swapped."""
    return _differences(_plain(name), _plain(other), 1) == 1


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")


def _nearest(wanted: str, names: Mapping[str, str], most: int) -> list[str]:
    """Return the names with the fewest differences, if there are at most so many."""
    found: list[str] = []
    for name, plain in names.items():
        differences = _differences(wanted, plain, most)
        if differences < most:
            found, most = [], differences
        if differences == most:
            found.append(name)
    return found


def _differences(one: str, other: str, most: int) -> int:
    """Return how many letters must be added, removed, replaced or swapped with a neighbour; more than `most` if many."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for n, letter in enumerate(one):
        last, before, row = before, row, [n + 1]
        for k, opposite in enumerate(other):
            steps: int = min(before[k + 1] + 1, row[k] + 1, before[k] + (letter != opposite))
            if n and k and letter == other[k - 1] and one[n - 1] == opposite:
                steps = min(steps, last[k - 1] + 1)
            row.append(steps)
    return row[-1]


def most_alike(name: str, known: Iterable[str], likeness: float) -> list[str]:
    """Return the known names most alike, best first, for a search.

    `likeness`, from 0 to 1, is the share of a name that must agree.
    """
    import difflib  # only a mistake needs it

    return difflib.get_close_matches(name, list(known), NEAREST, likeness)


def did_you_mean(near: Sequence[str]) -> str:
    """Return a question to append to a sentence; empty if no name is near."""
    if not near:
        return ""
    return f" Did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}?"


def instead(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return what to append to a sentence on an unknown name: the nearest known ones, otherwise another sentence."""
    return did_you_mean(near_names(name, known)) or (otherwise and f" {otherwise}")


def one_of(name: str, known: Collection[str]) -> str:
    """Return what to append to a sentence on an unknown name: the nearest known ones, otherwise all of them."""
    return instead(name, known, f"Use one of: {', '.join(known)}.")


def ago(seconds: float) -> str:
    """Return an elapsed time as text: `just now`, `5 min ago`, `3 h ago`, `2 days ago`."""
    for size, unit in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (unit == 'day' and count > 1)} ago"
    return "just now"

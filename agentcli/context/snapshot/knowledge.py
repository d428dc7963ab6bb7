"""Knowledge of a snapshot, merged with the knowledge of a new summary: nothing is lost, and nothing is repeated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count

from agentcli.context.snapshot.form import uncited
from agentcli.context.snapshot.verify import claims


def merged_knowledge(former: Sequence[str], new: Iterable[str], obsolete: Sequence[str]) -> tuple[str, ...]:
    """Return the former items that are not obsolete, then the new items that add something.

    Takes time linear in the number of items. Each is compared only with the few that share most words.
    """
    bare = [_bare(gone) for gone in obsolete]
    known = _Known()
    for item in former:
        if not any(_names(gone, _bare(item)) for gone in bare):
            known.add(item)
    for item in new:
        near = known.near(item)
        if any(_alike(item, known.items[place]) for place in near):
            continue
        for place in near:
            # A new wording that contains a whole old item replaces it.
            if uncited(known.items[place]) in item:
                del known.items[place]
        known.add(item)
    return tuple(known.items.values())


class _Known:
    """Items in their order, found by their words."""

    def __init__(self) -> None:
        self.items: dict[int, str] = {}
        self._places: dict[str, list[int]] = {}
        self._numbers = count()

    def add(self, item: str) -> None:
        """Add an item at the end."""
        place = next(self._numbers)
        self.items[place] = item
        for word in set(_bare(item).split()):
            self._places.setdefault(word, []).append(place)

    def near(self, item: str) -> list[int]:
        """Return the places of the items that share most words with an item."""
        shared = Counter(
            place for word in set(_bare(item).split()) for place in self._places.get(word, ())[-_COMPARED:]
        )
        return [place for place, _ in shared.most_common(_COMPARED) if place in self.items]


def _alike(item: str, old: str) -> bool:
    """Return True if an item adds nothing to an old one.

    It has nearly the same words about the same names and numbers.
    """
    new_words, old_words = set(_bare(item).split()), set(_bare(old).split())
    if new_words <= old_words:
        return True
    common = len(new_words & old_words) / len(new_words | old_words)
    return common >= _SAME_FACT and set(claims(uncited(item))) == set(claims(uncited(old)))


def _names(gone: str, item: str) -> bool:
    """Return True if a line that declares something obsolete means this item: it must repeat at least its beginning."""
    return bool(gone) and (
        gone == item or (len(gone) >= _RECOGNISABLE and item.startswith(gone)) or gone.startswith(item)
    )


def _bare(text: str) -> str:
    return _MARKS.sub(" ", uncited(text)).strip().casefold()


_MARKS = re.compile(r"[\W_]+")
_SAME_FACT, _RECOGNISABLE, _COMPARED = 0.8, 20, 40

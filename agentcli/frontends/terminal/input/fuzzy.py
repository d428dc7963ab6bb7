"""Fuzzy path search (letters of the query in order), incremental: no key waits for all of a large project."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import compress, islice, repeat

from agentcli.core.dataclass import dataclass

SLICE = 4_096
"""Paths to examine in one step: about a millisecond."""
SECONDS = 0.008
"""Time limit of one subsequence search; the next call continues it."""
_STROKE = 65_536
_RANKED = 8
"""Maximum paths to rank, as a multiple of the wanted paths.

The best of these are not always the best of all.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """Best paths so far, best first; `whole` unless a further search may find more."""

    paths: tuple[str, ...] = ()
    whole: bool = True


@dataclass(slots=True)
class _Level:
    """Paths that match a prefix of the query."""

    numbers: list[int] = field(default_factory=list)
    """Indices of the paths."""
    places: list[int] = field(default_factory=list)
    """Positions after the match."""
    seen: int = 0
    """How many paths of the previous level are done."""


class Listing:
    """Searchable list of paths; a longer query continues from its prefix's candidates."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        # Lowering must keep every character's position, so a character that grows when lowered stays unchanged.
        self._lowered = [low if len(low := path.lower()) == len(path) else path for path in paths]
        self._text = "\n" + "\n".join(self._lowered) + "\n"
        self._original = "\n" + "\n".join(paths) + "\n"
        self._letters = set[str]()
        for start in range(0, len(self._text), _STROKE):  # in pieces, because one long call would block other threads
            self._letters.update(self._text[start : start + _STROKE])
        self._query = ""
        self._held: tuple[str, list[str]] | None = None
        self._levels = [_Level(list(range(len(paths))), [0] * len(paths))]

    def find(self, query: str, count: int, seconds: float = SECONDS) -> Found:
        """Return the ranked matches: name prefix, path substring, name subsequence, path subsequence."""
        query = query.lower()
        if not query:
            return Found(tuple(self._paths[:count]))
        if not self._letters.issuperset(query):
            return Found()
        ranks, whole = self._exact(query, count * _RANKED), True
        if len(ranks) < count and len(query) > 1:
            whole = self._narrow(query, count * _RANKED, time.perf_counter() + seconds)
            for number in self._levels[-1].numbers[: count * _RANKED]:
                path = self._paths[number]
                ranks.setdefault(path, 2 + (not _in_order(query, path.rpartition("/")[2].lower())))
        order = sorted(ranks, key=lambda path: (ranks[path], path.count("/"), len(path), path))
        return Found(tuple(order[:count]), whole)

    def _exact(self, query: str, most: int) -> dict[str, int]:
        """Return the substring matches with their rank (0: name prefix); all of them if fewer than `most`."""
        if self._held is not None and query.startswith(self._held[0]):
            # Only paths that match the shorter query can match the longer one.
            among = [path for path in self._held[1] if query in path.lower()]
        else:
            among = self._lines(query, most)
        self._held = (query, among) if len(among) < most else None
        if self._held is None:
            among = [*self._lines("\n" + query, most), *self._lines("/" + query, most), *among]
        return {path: 0 if "/" + query in "/" + path.lower() else 1 for path in among}

    def _lines(self, text: str, most: int) -> list[str]:
        return [self._line(place) for place in islice(_places(self._text, text), most)]

    def _line(self, place: int) -> str:
        place += self._text[place] == "\n"
        start = self._original.rfind("\n", 0, place) + 1
        return self._original[start : self._original.find("\n", place)]

    def _narrow(self, query: str, enough: int, until: float) -> bool:
        """Search for subsequence matches until there are enough; False if the time ran out."""
        pairs = enumerate(zip(query, self._query, strict=False))
        same = next((n for n, (new, old) in pairs if new != old), min(len(query), len(self._query)))
        self._levels[same + 1 :] = (_Level() for _ in query[same:])
        self._query = query
        last = self._levels[-1]
        while len(last.numbers) < enough and (depth := self._deepest()):
            self._step(depth)
            if time.perf_counter() > until:
                return False
        return True

    def _deepest(self) -> int:
        """Return the last level with unseen candidates in the level above; 0 if none."""
        levels = self._levels
        depths = range(len(levels) - 1, 0, -1)
        return next((n for n in depths if levels[n].seen < len(levels[n - 1].numbers)), 0)

    def _step(self, depth: int) -> None:
        """Advance one slice of candidates by one level."""
        above, level = self._levels[depth - 1], self._levels[depth]
        part = slice(level.seen, level.seen + SLICE)
        numbers = above.numbers[part]
        level.seen += len(numbers)
        paths = map(self._lowered.__getitem__, numbers)
        places = list(map(str.find, paths, repeat(self._query[depth - 1]), above.places[part]))
        held = [place >= 0 for place in places]
        level.numbers += compress(numbers, held)
        level.places += [place + 1 for place in places if place >= 0]


def _places(text: str, part: str) -> Iterator[int]:
    """Yield the positions of the text, one per line."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, text.find("\n", place + len(part)))


def _in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)

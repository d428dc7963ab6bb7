"""Search by words: which records of a session to read, and which of their texts match best, without a model.

Words match in other forms (`merging` finds `merged`), and as parts of names in camelCase and snake_case. Rare words
weigh more than frequent ones (as in BM25), so no stop words are needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from agentcli.core.dataclass import dataclass
from agentcli.core.text.passage import Mark, Passage, PassageRole
from agentcli.tools.lib.hits import Hit

_LEAST = 3
"""Characters of the shortest term that the index can search for."""
_WINDOW = 350
"""Characters within which terms count as together."""
_EACH = 300
"""Maximum places of one term in one text to examine."""
_SIZE_COUNTS = 0.4
"""Weight, between 0 and 1, with which a record's size lowers its score."""
_SATURATES = 1.2
"""BM25's k1."""
_REPEATED = 0.15
"""Weight of a term's repetition within a window, as a share of the term's; at most three count."""
_ELSEWHERE, _BESIDE = 0.3, 0.2
"""Weight of a term outside the window: elsewhere in its text, or in a neighbouring record."""
_PHRASE = 0.8
"""Weight of the whole query, found unchanged, as a share of all its terms."""
_ROOT_COUNTS = 0.4
"""Weight of a long word's beginning, as a share of the word's."""
_COVER = 0.3
"""Part of a score that depends on the share of all terms found in the window."""
_LONG = 0.15
"""Factor by which each doubling of a text lowers its windows' scores.

In a long text, some window is good by chance.
"""
_SECOND = 0.8
"""Weight of the second hit of a text."""
_ROLES: Mapping[PassageRole, float] = {"user": 1.2, "assistant": 1.15, "output": 1.0, "input": 0.9, "summary": 0.8}


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query, case folded. `stem` is the prefix that all its forms share; `whole` marks a name of several
    parts.

    `share` is the counting part of its weight.
    """

    stem: str
    whole: bool = False
    share: float = 1.0


def terms(query: str) -> tuple[Term, ...]:
    """Return the terms of a query: its words, the parts of its names, and these names."""
    found: dict[Term, None] = {}
    for name in re.findall(_NAME, query):
        parts = [part for part in re.findall(_PART, name) if len(part) >= _LEAST or part.isdigit()]
        if len(parts) > 1 or (parts and parts != [name]):
            found[Term(name.casefold(), whole=True)] = None
        for part in parts:
            stem = _stem(part.casefold())
            found[Term(stem)] = None
            if len(stem) >= _LONG_WORD and stem.isalpha():
                found[Term(stem[: max(_ROOT, len(stem) - 4)], share=_ROOT_COUNTS)] = None
    found |= {Term(pair): None for run in re.findall(_UNSPACED, query) for pair in map("".join, pairwise(run))}
    return tuple(term for term in found if len(term.stem.encode()) >= _LEAST)


def _stem(word: str) -> str:
    """Return the stem of a word: without its ending, and without a doubled consonant before that."""
    if not (word.isascii() and word.isalpha()):
        return word
    stem = re.sub(_ENDING, "", word)
    if not re.search(_VOWEL, stem):
        return word
    return stem[:-1] if stem != word and len(stem) > 4 and re.search(_DOUBLED, stem) else stem


class Weights:
    """Weights of a query's terms in one session, by how many of its records contain them."""

    def __init__(self, wanted: Sequence[Term], marks: Sequence[Mark]) -> None:
        holding = [sum(mark.held >> n & 1 for mark in marks) for n in range(len(wanted))]
        self.terms = tuple(wanted)
        self.each = tuple(
            math.log(1 + (len(marks) - count + 0.5) / (count + 0.5)) * min(1.0, len(term.stem) / 6) * term.share
            for term, count in zip(wanted, holding, strict=True)
        )
        self.all = sum(self.each)

    def of(self, held: int) -> float:
        """Return the weight of the terms whose bits are set."""
        return sum(weight for n, weight in enumerate(self.each) if held >> n & 1)


def likeliest(marks: Sequence[Mark], weights: Weights, count: int) -> Sequence[tuple[Mark, int]]:
    """Return up to `count` records with terms, best first, the newer first among equals; and their neighbours' terms."""
    if not marks:
        return ()
    usual = sum(mark.size for mark in marks) / len(marks) or 1.0
    known: dict[int, float] = {}

    def weight(held: int) -> float:
        if held not in known:
            known[held] = weights.of(held)
        return known[held]

    scored = []
    for n, mark in enumerate(marks):
        if mark.held:
            beside = (marks[n - 1].held if n else 0) | (marks[n + 1].held if n + 1 < len(marks) else 0)
            long = 1 - _SIZE_COUNTS + _SIZE_COUNTS * min(mark.size / usual, 20.0)
            score = weight(mark.held) * (1 + _SATURATES) / (1 + _SATURATES * long) + _BESIDE * weight(
                beside & ~mark.held
            )
            scored.append((score, -n, beside))
    scored.sort(reverse=True)
    return [(marks[-minus], beside) for _, minus, beside in scored[:count]]


def hits(passage: Passage, beside: int, weights: Weights, phrase: re.Pattern[str] | None) -> Iterator[Hit]:
    """Yield the best part of a passage, and the next best that is apart from it. `phrase` is the query unchanged."""
    text = passage.text
    places = sorted(_places(text, weights.terms))
    standing = [match.start() for match in _first(phrase.finditer(text), 3)] if phrase else []
    places = sorted([*places, *((start, -1) for start in standing)])
    if not places:
        return
    held = sum(1 << n for n in {n for _, n in places if n >= 0})
    held |= sum(
        1 << n
        for _, n in set(_places(f"{passage.title} {passage.name} {passage.status}", weights.terms))
        if not held >> n & 1
    )
    taken: list[tuple[int, int]] = []
    for value, start, end, near in sorted(_windows(places, weights), key=lambda window: -window[0]):
        if any(start < to + _WINDOW // 2 and end > since - _WINDOW // 2 for since, to in taken):
            continue
        score = value + _ELSEWHERE * weights.of(held & ~near) + _BESIDE * weights.of(beside & ~held)
        share = weights.of(near) / weights.all
        score *= 1 - _COVER + _COVER * share
        score /= 1 + _LONG * math.log2(1 + len(text) / _WINDOW)
        yield Hit(score * _ROLES[passage.role] * (_SECOND if taken else 1.0), passage, start, end, share)
        taken.append((start, end))
        if len(taken) == 2:
            return


def _windows(places: Sequence[tuple[int, int]], weights: Weights) -> Iterator[tuple[float, int, int, int]]:
    """Yield for each place the value of the window that begins there, its ends, and its terms as bits."""
    counts: dict[int, int] = {}
    value, end = 0.0, 0

    def worth(n: int, count: int) -> float:
        if n < 0:
            return _PHRASE * weights.all if count else 0.0
        return weights.each[n] * (1 + _REPEATED * min(count - 1, 3)) if count else 0.0

    def change(n: int, by: int) -> float:
        before = counts.get(n, 0)
        counts[n] = before + by
        return worth(n, before + by) - worth(n, before)

    for start, first in places:
        while end < len(places) and places[end][0] < start + _WINDOW:
            value += change(places[end][1], 1)
            end += 1
        yield value, start, places[end - 1][0] + 1, sum(1 << n for n, count in counts.items() if n >= 0 and count)
        value += change(first, -1)


def _places(text: str, wanted: Sequence[Term]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the terms in a text, each with its number."""
    known = text.lower()
    if len(known) != len(text):
        known = text = text.casefold()
    for n, term in enumerate(wanted):
        at, count = known.find(term.stem), 0
        while at >= 0 and count < _EACH:
            end = at + len(term.stem)
            if term.whole or _is_word(text, at, end):
                yield at, n
                count += 1
            at = known.find(term.stem, end)


def _is_word(text: str, start: int, end: int) -> bool:
    """Return True if a word begins at `start`, also within a name, and ends a few letters after `end`."""
    first = text[start]
    if not first.isalpha():
        return not (start and text[start - 1].isdigit())
    if start and text[start - 1].isalpha() and not (first.isupper() and text[start - 1].islower()) and first < "\u2e80":
        return False
    behind = text[end : end + _LONGEST_ENDING + 1]
    return len(behind) <= _LONGEST_ENDING or not (behind.isalpha() and (behind.islower() or behind.isupper()))


def _first(found: Iterable[re.Match[str]], count: int) -> Iterator[re.Match[str]]:
    for _, each in zip(range(count), found, strict=False):
        yield each


_NAME = r"[^\W\u2e80-\U0010ffff]+(?:[./-][^\W\u2e80-\U0010ffff]+)*"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+"
_UNSPACED = r"[\u2e80-\U0010ffff]{2,}"
_ENDING = r"(?:(?<=\w{5})(?:ations?|ments?|ions?)|(?<=\w{3})(?:ings?|ed)|(?<=\w{4})(?:ers?|es|ly|[sey]))$"
_VOWEL = r"[aeiouy]"
_DOUBLED = r"([bdfgmnprt])\1$"
_LONGEST_ENDING = 5
_LONG_WORD, _ROOT = 8, 5
"""Minimum letters of a stem whose beginning counts too, and of that beginning.

`authorship` finds `author`.
"""

"""Anchors of a summary's sentences: the passage of one record that contains most words of a sentence.

A summary may be in another language than the records. Then they share only names, paths, numbers and quotations, so
these weigh more than words. This module has no words of any language.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import pairwise, takewhile
from typing import Literal

from agentcli.context.ledger.standing_rules import sentences
from agentcli.core.dataclass import dataclass

Speaker = Literal["user", "agent", "tool"]


@dataclass(frozen=True, slots=True)
class Source:
    """A text of the history. A call and its results are one `step`; `head` names the file or command that an output is from.

    `turn` counts the user's prompts.
    """

    text: str
    seq: int = 0
    step: int = 0
    speaker: Speaker = "agent"
    head: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Anchor:
    """A passage that supports a sentence: `share` of the sentence's weight occurs in it, `weight` in all.

    `named`: it contains a name, path, number or quotation of the sentence. `missing` are those that neither its step nor
    one that the sentence cites contains.
    """

    source: Source
    passage: str
    share: float
    weight: float
    named: bool
    missing: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """True if nothing is missing."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word, name, path, number or quotation."""

    weight: float
    options: tuple[frozenset[str], ...]
    """Sets of tokens of which one must occur whole."""
    claim: str = ""
    """The name, path, number or quotation, if it is one."""

    def occurs(self, tokens: frozenset[str]) -> bool:
        """Return True if it occurs among the tokens of a passage."""
        return any(option <= tokens for option in self.options)


@dataclass(frozen=True, slots=True)
class _Passage:
    source: Source
    text: str
    tokens: frozenset[str]

    @property
    def by_user(self) -> bool:
        """True if the user said it."""
        return self.source.speaker == "user"


class Anchors:
    """Index of the words of all sources, made once in time linear in their length."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._passages: list[_Passage] = []
        self._places = {by_user: defaultdict[str, list[int]](list) for by_user in (True, False)}
        self._steps = defaultdict[int, list[int]](list)
        for source in dict.fromkeys(sources):
            self._add(source)
        self._words = _Words({*self._places[True], *self._places[False]})

    def of(
        self, sentence: str, claims: Sequence[str], cited: Iterable[int] = ()
    ) -> tuple[Anchor | None, Anchor | None]:
        """Return the best anchor in the user's words and the best one elsewhere.

        `claims` are the names, paths, numbers and quotations in the sentence, `cited` the steps that it gives as its
        proof.
        """
        units = list(self._units(sentence, claims))
        whole = sum(unit.weight for unit in units)
        best: dict[bool, tuple[float, _Passage]] = {}
        candidates = (place for by_user in (True, False) for place in self._candidates(units, by_user))
        for place in candidates if whole else ():
            passage = self._passages[place]
            weight = sum(unit.weight for unit in units if unit.occurs(passage.tokens))
            if weight > best.get(passage.by_user, (0.0, passage))[0]:
                best[passage.by_user] = weight, passage
        hard, cited = [unit for unit in units if unit.claim], tuple(cited)

        def anchor(weight: float, passage: _Passage) -> Anchor:
            named = any(unit.occurs(passage.tokens) for unit in hard)
            steps = (passage.source.step, *cited)
            missing = tuple(unit.claim for unit in hard if not any(self._holds(step, unit) for step in steps))
            return Anchor(passage.source, passage.text, weight / whole, weight, named, missing)

        by_user, elsewhere = (best.get(each) for each in (True, False))
        return by_user and anchor(*by_user), elsewhere and anchor(*elsewhere)

    def _holds(self, step: int, unit: _Unit) -> bool:
        return any(unit.occurs(self._passages[place].tokens) for place in self._steps.get(step, ()))

    def _add(self, source: Source) -> None:
        head, places = frozenset(_tokens(source.head)), self._places[source.speaker == "user"]
        for number, text in enumerate(dict.fromkeys(_passages(source)), len(self._passages)):
            passage = _Passage(source, text, head.union(_tokens(text)))
            self._passages.append(passage)
            self._steps[source.step].append(number)
            for token in passage.tokens:
                places[token].append(number)

    def _candidates(self, units: Sequence[_Unit], by_user: bool) -> list[int]:
        """Return the passages with most of the units, the newest first among equals; words that occur nearly everywhere choose none."""
        found = []
        for unit in units:
            # Of several tokens that must occur together the rarest decides.
            each = (min((self._places[by_user].get(token, ()) for token in option), key=len) for option in unit.options)
            found.append((unit.weight, {place for places in each for place in places[-_WIDEST:]}))
        found.sort(key=lambda pair: len(pair[1]))
        weights: dict[int, float] = {}
        visited = 0
        for weight, where in found:
            visited += len(where)
            if visited > _MOST_VISITED and weights:
                break
            for place in where:
                weights[place] = weights.get(place, 0.0) + weight
        return nlargest(_TRIED, weights, key=lambda place: (weights[place], place))

    def _units(self, sentence: str, claims: Sequence[str]) -> Iterator[_Unit]:
        for claim in dict.fromkeys(claims):
            sentence = sentence.replace(claim, " ")
            if tokens := frozenset(_tokens(claim)):
                yield _Unit(_CLAIM, (tokens,), claim)
        for token in dict.fromkeys(_tokens(sentence)):
            unspaced = token[0] >= _UNSPACED
            weight = _PAIR if unspaced else min(1.0, len(token) / _LONG)
            related = (token,) if unspaced else self._words.related(token)
            yield _Unit(weight, tuple(frozenset((each,)) for each in related))


class _Words:
    """The words of all sources, found by what words of the same root have in common."""

    def __init__(self, words: Iterable[str]) -> None:
        self._sorted = sorted(words)
        self._by_ending = defaultdict[str, list[str]](list)
        for word in self._sorted[bisect_left(self._sorted, _PREFIXED[0]) : bisect_left(self._sorted, _PREFIXED[1])]:
            for key in _keys(word):
                self._by_ending[key].append(word)

    def related(self, word: str) -> set[str]:
        """Return the words that have a key in common with this one."""
        keys = list(_keys(word))
        if _PREFIXED[0] <= word[0] < _PREFIXED[1]:
            return {other for key in keys for other in self._by_ending.get(key, ())}
        shortest = min(keys, key=len)
        following = map(self._sorted.__getitem__, range(bisect_left(self._sorted, shortest), len(self._sorted)))
        alike = takewhile(lambda other: other.startswith(shortest), following)
        return {other for other in alike if not set(keys).isdisjoint(_keys(other))}


def _passages(source: Source) -> Iterator[str]:
    """Yield the text in passages: whole lines, or sentences of long lines. Of the user's words each sentence is one."""
    passage = ""
    for line in source.text.splitlines():
        whole = len(line) <= _PASSAGE and source.speaker != "user"
        for piece in (line,) if whole else _sentences(line):
            if passage and (source.speaker == "user" or len(passage) + len(piece) > _PASSAGE):
                yield passage
                passage = ""
            passage = f"{passage}\n{piece}" if passage else piece
    if passage.strip():
        yield passage


def _sentences(line: str) -> Iterator[str]:
    for sentence in sentences(line):
        yield from (sentence[start : start + _LONGEST] for start in range(0, len(sentence), _LONGEST))


def _tokens(text: str) -> list[str]:
    """Return the words, case-folded and without accents; in scripts without blanks between words, pairs of characters."""
    folded = _folded(text)
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    tokens: list[str] = []
    for word in _TOKEN.findall(folded):
        unspaced = word[0] >= _UNSPACED and len(word) > 1
        tokens += (one + other for one, other in pairwise(word)) if unspaced else (word,)
    return tokens


def _folded(text: str) -> str:
    text = _THOUSANDS.sub("", text)
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text.casefold())))


def _keys(word: str) -> Iterator[str]:
    """Yield the parts that words of the same root share.

    They are beginnings, and also ends in scripts with articles before the root.
    """
    shortest = max(3, -(-len(word) * 3 // 5))
    yield word
    if word[0].isdigit() or len(word) > _WORD_LENGTH:
        return
    yield from (word[:end] for end in range(shortest, len(word)))
    if _PREFIXED[0] <= word[0] < _PREFIXED[1]:
        yield from (word[start:] for start in range(1, len(word) - shortest + 1))


_UNSPACED = "\u2e80"
"""First character of the scripts that are read in pairs of characters."""
_PREFIXED = "\u0590", "\u0700"
"""Range of the scripts whose articles and conjunctions are the beginning of the next word: Hebrew, Arabic, Syriac."""
_ASCII_WORD = re.compile(r"\w+")
_TOKEN = re.compile(rf"[^\W{_UNSPACED}-\U0010ffff]+|[{_UNSPACED}-\U0010ffff]+")
_ACCENT = re.compile("[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0670\u3099\u309a]+")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}\b)")
_CLAIM, _PAIR, _LONG = 3.0, 0.25, 6
"""Weight of a name, path, number or quotation; of a pair of characters; letters of a word that weighs 1."""
_PASSAGE, _LONGEST, _WORD_LENGTH = 300, 600, 40
_WIDEST, _MOST_VISITED, _TRIED = 500, 2_000, 12
"""Maximum places looked up for a word, places weighed for a sentence, and passages compared with it.

The newest passages come first, then the best.
"""

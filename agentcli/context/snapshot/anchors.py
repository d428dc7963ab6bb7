"""Anchors of a summary's sentences: the passage of one record that contains most words of a sentence.

A summary may be in another language than the records. Then they share only names, paths, numbers and quotations, so
these weigh more than words. This module has no words of any language.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from heapq import nlargest
from itertools import pairwise, takewhile
from operator import itemgetter
from typing import Literal, NamedTuple

from agentcli.context.ledger.standing_rules import sentences
from agentcli.core.dataclass import dataclass

Speaker = Literal["user", "agent", "tool"]


class Source(NamedTuple):
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


_Numbers = Mapping[str, list[int]]
"""Texts with the numbers of the sources that have them."""
_Place = tuple[int, int]
"""Numbers of a source and of a passage in it."""


class _Side:
    """Sources of the user, or all others, by their tokens.

    Many sources have the same text or head, so each is read once. A text is only divided at its blanks. The tokens are
    those of its pieces, most of which repeat. Only texts that a sentence asks for are divided into passages.
    """

    def __init__(self, sources: Sequence[Source], texts: _Numbers, heads: _Numbers, by_user: bool) -> None:
        """Index the texts and heads of this side, each with the numbers of its sources."""
        self._sources, self._by_user = sources, by_user
        self._divided: dict[str, Sequence[tuple[str, frozenset[str]]]] = {}
        self._newest: dict[str, Sequence[_Place]] = {}
        self._counts: dict[str, int] = {}
        self._least: dict[str, float] = {}
        self._lists: dict[str, Sequence[list[int]]] = {}
        self._long: list[str] = []
        """Texts whose passages divide pieces."""
        self._by_piece = defaultdict[str, list[list[int]]](list)
        """Numbers of the sources that contain a piece, a list for each of their texts."""
        self._by_token = defaultdict[str, list[list[int]]](list)
        """The same for the tokens of heads and of long texts."""
        empty = {text for text, numbers in texts.items() if not self._add(text, numbers)}
        self._heads = {"": frozenset[str](), **{head: frozenset(_tokens(head)) for head in heads}}
        for head, numbers in heads.items():
            if numbers := [number for number in numbers if sources[number].text not in empty] if empty else numbers:
                for token in self._heads[head]:
                    self._by_token[token].append(numbers)
        self._pieces = _by_tokens(self._by_piece)
        self.words = {*self._pieces, *self._by_token}
        """All tokens of the sources."""

    @property
    def pieces(self) -> Set[str]:
        """The pieces of all texts, as divided by their blanks."""
        return self._by_piece.keys() | {piece for text in self._long for piece in text.split()}

    def _add(self, text: str, numbers: list[int]) -> bool:
        """Add a text of these sources; return False if it has no passage."""
        has_lines = len(text) <= _PASSAGE or max(map(len, text.splitlines())) <= _PASSAGE
        if has_lines and not self._by_user and (pieces := set(text.split())):
            by_piece = self._by_piece
            for piece in pieces:  # its passages are whole lines
                by_piece[piece].append(numbers)
            return True
        self._long.append(text)
        passages = self._passages(text)
        for token in frozenset[str]().union(*(tokens for _, tokens in passages)):
            self._by_token[token].append(numbers)
        return bool(passages)

    def numbers(self, token: str) -> Sequence[list[int]]:
        """Return the numbers of the sources that contain a token, a list for each of their texts and heads."""
        if token not in self._lists:
            pieces = self._pieces.get(token, ())
            lists = (*self._by_token.get(token, ()), *(each for piece in pieces for each in self._by_piece[piece]))
            self._lists[token] = list({id(each): each for each in lists}.values()) if len(pieces) > 1 else lists
        return self._lists[token]

    def passages(self, number: int) -> Iterator[_Passage]:
        """Yield the passages of a source."""
        source = self._sources[number]
        head = self._heads.get(source.head, frozenset())
        return (_Passage(source, text, head | tokens) for text, tokens in self._passages(source.text))

    def passage(self, place: _Place) -> _Passage:
        """Return the passage at a place."""
        source = self._sources[place[0]]
        text, tokens = self._passages(source.text)[place[1]]
        return _Passage(source, text, self._heads[source.head] | tokens)

    def newest(self, option: frozenset[str]) -> Sequence[_Place]:
        """Return the newest passages with a token, of several tokens with the one that the fewest passages contain."""
        token = self._rarest(option)
        if token not in self._newest:
            found: list[_Place] = []
            # Each source has a passage with it, and is in two lists at most.
            lists = sorted(self.numbers(token), key=itemgetter(-1), reverse=True)[: 2 * _WIDEST]
            for number in sorted({number for each in lists for number in each[-_WIDEST:]}, reverse=True)[:_WIDEST]:
                found += reversed(self._within(number, token))
                if len(found) >= _WIDEST:
                    break
            self._newest[token] = found[:_WIDEST]
        return self._newest[token]

    def _rarest(self, option: frozenset[str]) -> str:
        if len(option) == 1:
            return next(iter(option))
        counts, least = dict[str, int](), math.inf
        for token in sorted(option, key=self._fewest):
            if self._fewest(token) > least:
                break
            if token not in self._counts:
                self._counts[token] = sum(len(self._within(number, token)) for number in self._containing(token))
            counts[token] = self._counts[token]
            least = min(least, counts[token])
        return min((token for token in option if token in counts), key=counts.__getitem__)

    def _fewest(self, token: str) -> float:
        """Return a number of passages with a token that is not too high: a source may be in two lists."""
        if token not in self._least:
            self._least[token] = sum(map(len, self.numbers(token))) / 2
        return self._least[token]

    def _containing(self, token: str) -> set[int]:
        return set().union(*self.numbers(token))

    def _within(self, number: int, token: str) -> Sequence[_Place]:
        """Return the passages with a token of a source that contains it."""
        source = self._sources[number]
        if not self._by_user and len(source.text) <= _PASSAGE:
            return [(number, 0)]  # a short text is one passage
        named = token in self._heads[source.head]
        passages = enumerate(self._passages(source.text))
        return [(number, place) for place, (_, tokens) in passages if named or token in tokens]

    def _passages(self, text: str) -> Sequence[tuple[str, frozenset[str]]]:
        """Return the passages of a text with the tokens of each."""
        if text not in self._divided:
            passages = dict.fromkeys(_passages(text, self._by_user))
            self._divided[text] = [(passage, frozenset(_tokens(passage))) for passage in passages]
        return self._divided[text]


class Anchors:
    """Index of the words of all sources, made once in time linear in the length of their different texts."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(dict.fromkeys(sources))
        self._steps = defaultdict[int, list[int]](list)
        by_text, by_head = ({by_user: defaultdict[str, list[int]](list) for by_user in (True, False)} for _ in range(2))
        for number, (text, _, step, speaker, head, _) in enumerate(self._sources):
            by_user = speaker == "user"
            by_text[by_user][text].append(number)
            if head:
                by_head[by_user][head].append(number)
            self._steps[step].append(number)
        self._sides = {side: _Side(self._sources, by_text[side], by_head[side], side) for side in (True, False)}
        self._words = _Words({*self._sides[True].words, *self._sides[False].words})

    @property
    def pieces(self) -> Set[str]:
        """All texts but the user's words, divided at their blanks."""
        return self._sides[False].pieces

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
        sides = self._sides.values() if whole else ()
        for passage in (side.passage(place) for side in sides for place in _candidates(units, side)):
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
        return any(
            unit.occurs(passage.tokens)
            for number in self._steps.get(step, ())
            for passage in self._sides[self._sources[number].speaker == "user"].passages(number)
        )

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


def _candidates(units: Sequence[_Unit], side: _Side) -> list[_Place]:
    """Return the passages with most of the units, the newest first among equals; words that occur nearly everywhere choose none."""
    found = [(unit.weight, {place for option in unit.options for place in side.newest(option)}) for unit in units]
    found.sort(key=lambda pair: len(pair[1]))
    weights: dict[_Place, float] = {}
    visited = 0
    for weight, where in found:
        visited += len(where)
        if visited > _MOST_VISITED and weights:
            break
        for place in where:
            weights[place] = weights.get(place, 0.0) + weight
    return nlargest(_TRIED, weights, key=lambda place: (weights[place], place))


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


def _passages(text: str, by_user: bool) -> Iterator[str]:
    """Yield the text in passages: whole lines, or sentences of long lines. Of the user's words each sentence is one."""
    passage = ""
    for line in text.splitlines():
        whole = len(line) <= _PASSAGE and not by_user
        for piece in (line,) if whole else _sentences(line):
            if passage and (by_user or len(passage) + len(piece) > _PASSAGE):
                yield passage
                passage = ""
            passage = f"{passage}\n{piece}" if passage else piece
    if passage.strip():
        yield passage


def _sentences(line: str) -> Iterator[str]:
    for sentence in sentences(line):
        yield from (sentence[start : start + _LONGEST] for start in range(0, len(sentence), _LONGEST))


def _by_tokens(pieces: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the pieces that contain each token. No token extends beyond a piece."""
    found = defaultdict[str, list[str]](list)
    for piece in pieces:
        if piece.isascii() and piece.isalnum():  # a plain word
            found[piece.lower()].append(piece)
            continue
        for token in _tokens(piece):
            found[token].append(piece)
    return found


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

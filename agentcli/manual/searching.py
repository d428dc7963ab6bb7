"""Search in the manual: sections by how much of a question they answer, best first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import pairwise

from agentcli import manual
from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page; `heading` is the page's heading for the text above the first section."""

    topic: str
    heading: str
    lines: tuple[str, ...]


def search(text: str) -> list[Section]:
    """Return the sections that contain words of the text, the best first. Their `lines` are the paragraphs, items and
    rows with any of the words, each in one line. Of a long paragraph only the sentences with such words count. If the
    words are only in the heading or in the page's other words, the first paragraph is returned.
    """  # fmt: skip
    sections = _index()
    known = Counter(word for one in sections for word in one.weights)
    asked = _asked(text, known)
    rarity = {
        word: math.log(1 + len(sections) / (1 + sum(known[each] for each in meant))) for word, meant in asked.items()
    }
    scored = [(one.score(asked, rarity), one) for one in sections]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    return [_with_matches(one.section, {each for meant in asked.values() for each in meant}) for _, one in best]


@cache
def _index() -> Sequence[_Indexed]:
    """Return all sections; the pages are part of the program and do not change while it runs."""
    return [_Indexed.of(section) for topic in manual.TOPICS for section in _sections(topic)]


_NOTHING = frozenset(
    [
        "a",
        "about",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "get",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "too",
        "us",
        "was",
        "we",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
"""Articles, pronouns, prepositions and auxiliary verbs, which every question has."""
_ENDING = re.compile(r"(?:ations?|ing|ed|ies|es|s|e|y)$")
_LEAST = 4
"""Letters of a word from which on longer words that begin with it match."""
_LONG = 240
"""Characters of a line of which only sentences with words of the question are shown."""
_TOPIC, _OTHER, _HEADING, _SUMMARY, _FIRST, _BODY = 12.0, 9.0, 8.0, 4.0, 3.0, 1.0
"""Weights of a word in the topic, other words for it, the heading, the first sentence and column, the rest."""
_REFERENCE = 0.5
"""Share of the weights that a section of the pages to look things up has."""
_INHERITED = 0.4
"""Share of the weight of a word about the whole page that its other sections get."""


def _stem(word: str) -> str:
    """Return a word without its usual endings: `asking` and `asks` as `ask`, `running` as `run`."""
    if len(word) <= 3:
        return word
    stem = _ENDING.sub("", word)
    doubled = word != stem and len(stem) > 3 and stem[-1] == stem[-2] not in "ls"
    return word if len(stem) < 2 else stem[:-1] if doubled else stem


def _words(text: str) -> Iterator[str]:
    """Yield the stems of the words of a text, of names also their parts."""
    for name in re.findall(r"\w+(?:[.-]\w+)*", text.casefold()):
        yield _stem(name)
        if not name.isalnum():
            yield from map(_stem, re.findall(r"[^\W_]+", name))


def _asked(text: str, known: Mapping[str, int]) -> Mapping[str, Set[str]]:
    """Return the words of a question that matter, each with the words of the manual that it means."""
    named = re.findall(r"\w+(?:[.-]\w+)*", text.casefold())
    words = dict.fromkeys(_stem(name) for name in named if name not in _NOTHING)
    return {
        word: {word} if word in known else {each for each in known if len(word) >= _LEAST and each.startswith(word)}
        for word in words
    }


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A section with the weight of each of its words."""

    section: Section
    weights: Mapping[str, float]
    own: Set[str]
    """The words that the section itself has, or that are about the page which it opens."""

    @staticmethod
    def of(section: Section) -> _Indexed:
        """Return the section with the weights of its words, and of the words about its page."""
        opens = section.heading == manual.title(section.topic)
        scale = _REFERENCE if section.topic in manual.GROUPS["Look up"] else 1.0
        share = 1.0 if opens else _INHERITED
        weights: dict[str, float] = {}
        own = {*_words(section.heading), *_words(" ".join(section.lines))}
        for weight, text in (
            (_TOPIC * share, section.topic),
            (_OTHER * share, manual.other_words(section.topic)),
            (_SUMMARY * share, manual.summary(section.topic)),
            (0.0 if opens else _HEADING, section.heading),
            (_FIRST, " ".join(line.split("|")[1] for line in section.lines if line.startswith("|"))),
            (_FIRST, _first_sentence(section.lines)),
            (_BODY, " ".join(section.lines)),
        ):
            for word in _words(text) if weight else ():
                weights[word] = max(weights.get(word, 0.0), weight * scale)
        return _Indexed(section, weights, own | weights.keys() if opens else own)

    def score(self, asked: Mapping[str, Set[str]], rarity: Mapping[str, float]) -> float:
        """Return how well the section answers: rare words count more, and so does each further word of the question."""
        if not any(meant & self.own for meant in asked.values()):
            return 0.0
        found = {
            word: max((self.weights[each] for each in meant if each in self.weights), default=0.0)
            for word, meant in asked.items()
        }
        whole = sum(rarity.values()) or 1.0
        share = sum(rarity[word] for word, weight in found.items() if weight) / whole
        return share * sum(rarity[word] * weight for word, weight in found.items())


def _first_sentence(lines: Sequence[str]) -> str:
    joined = next((line for line in _joined(lines) if not line.startswith(("|", "    ", "```"))), "")
    return re.split(r"(?<=[.:])\s", joined, maxsplit=1)[0]


def _with_matches(section: Section, words: Set[str]) -> Section:
    joined = _joined(section.lines)
    heads = {line for line, after in pairwise(joined) if after.startswith(_RULE)}
    whole = [_plain(line) for line in joined if line not in heads and not line.startswith(("```", *_RULE))]
    lines = [_shortened(line, words) for line in whole if not words.isdisjoint(_words(line))]
    return Section(section.topic, section.heading, tuple(lines or whole[:1]))


def _shortened(line: str, words: Set[str]) -> str:
    """Return a long line as its first sentences with any of the words."""
    if len(line) <= _LONG or line.startswith("    "):
        return line
    found = [each for each in re.split(r"(?<=[.:]) (?=[A-Z`])", line) if not words.isdisjoint(_words(each))]
    bullet = "- " if line.startswith("- ") and not found[0].startswith("- ") else ""
    return bullet + " … ".join(found[:2])


def _plain(line: str) -> str:
    """Return a line, a row of a table with points between its cells."""
    row = re.fullmatch(r"\| *(.*?) *\|", line)
    return re.sub(r" *(?<!\\)\| *", " · ", row[1]) if row else line


_RULE = ("|-", "| -")
_APART = ("- ", "* ", "|", "    ", "1. ", ">")
"""Beginnings of lines that continue no paragraph."""


def _joined(lines: Sequence[str]) -> list[str]:
    """Return the lines with each paragraph and item in one; an empty line ends one."""
    joined: list[str] = []
    ended = True
    for line in lines:
        if line and not ended and not line.startswith(_APART):
            joined[-1] = f"{joined[-1]} {line.strip()}"
        elif line:
            joined.append(line)
        ended = not line or line.startswith(("|", "    "))
    return joined


def _sections(topic: str) -> Iterator[Section]:
    heading: str = topic
    lines: list[str] = []
    fenced = False
    for line in manual.page(topic).splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            if any(lines):
                yield Section(topic, heading, tuple(lines))
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line.rstrip())
    yield Section(topic, heading, tuple(lines))

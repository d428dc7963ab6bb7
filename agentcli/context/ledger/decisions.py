"""Decisions and findings of the assistant, in its own words: sentences that choose with a reason, or that state values.

They are recognised by their form alone, without a model: names in backticks and numbers in any language; in English also the
first person, and a conjunction that begins a reason or an alternative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.standing_rules import plain_lines, sentences
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message
from agentcli.core.record import Record, VerbatimText

_LEAST = 1.0
"""Score below which a sentence is no decision and no value."""


def fold_decisions(
    start: Iterable[VerbatimText], records: Sequence[Record], keep: LedgerSettings
) -> tuple[VerbatimText, ...]:
    """Return the decisions and values after more records, oldest first; a later one takes the place of one about the same."""
    kept = [_Kept(said, _words(said.text)) for said in start]
    for record in records:
        body = record.body
        if isinstance(body, Message) and body.role == "assistant":
            for sentence in _stated(body, keep):
                new = _Kept(VerbatimText(record.seq, body.turn, sentence), _words(sentence))
                kept = new.unlike(kept)
                kept.append(new)
        if len(kept) > 2 * keep.decisions:
            kept = _strongest(kept, keep.decisions)
    return tuple(each.said for each in _strongest(kept, keep.decisions))


def _strongest(kept: Sequence[_Kept], most: int) -> list[_Kept]:
    """Return at most so many, without the weakest and of these the oldest, in their order."""
    ranked = sorted(range(len(kept)), key=lambda n: (score(kept[n].said.text), n), reverse=True)
    return [kept[n] for n in sorted(ranked[:most])]


def fitting_decisions(known: Sequence[VerbatimText], characters: int) -> tuple[VerbatimText, ...]:
    """Return the strongest that fit into so many characters, the newer first among equals, in their order."""
    chosen = []
    for said in sorted(known, key=lambda said: (-score(said.text), -said.seq)):
        characters -= len(said.text) + _EXTRA
        if characters < 0:
            break
        chosen.append(said)
    return tuple(sorted(chosen, key=lambda said: said.seq))


def score(sentence: str) -> float:
    """Return how much the form of a sentence speaks for a decision or a value."""
    names = set(_NAME.findall(sentence))
    values = set(_VALUE.findall(sentence))
    first = 1.0 if _FIRST_PERSON.search(sentence) else 0.0
    reason = 1.0 if _REASON.search(sentence) else 0.0
    return first + reason + first * reason + 0.5 * min(len(names), 3) + min(len(values), 3)


@dataclass(frozen=True, slots=True)
class _Kept:
    said: VerbatimText
    words: frozenset[str]

    def unlike(self, others: Sequence[_Kept]) -> list[_Kept]:
        """Return the others that it does not supersede."""
        # The ones that it supersedes have all but a quarter of its words, so at least one of a few more than a quarter.
        missing = int((1 - _SAME) * len(self.words))
        few = frozenset(sorted(self.words, key=len)[-1 - missing :])
        return [other for other in others if (few and few.isdisjoint(other.words)) or not self.supersedes(other)]

    def supersedes(self, other: _Kept) -> bool:
        """Return True if it says nearly the same as another, perhaps with other values."""
        ours, theirs = len(self.words), len(other.words)
        if ours < _SAME * theirs or theirs < _SAME * ours:
            return False
        shared = len(self.words & other.words)
        return shared >= _SAME * (ours + theirs - shared)


def _stated(body: Message, keep: LedgerSettings) -> Iterator[str]:
    for line in plain_lines(body.text):
        for sentence in sentences(line):
            text = " ".join(sentence.split())
            if _SHORTEST <= len(text) <= keep.decision_characters and not text.endswith("?") and score(text) >= _LEAST:
                yield text


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d]{3,}", text.casefold()))


_SAME = 0.75
_SHORTEST = 20
_EXTRA = 12
"""Characters of a bullet and of the record's number."""
_NAME = re.compile(r"`[^`\n]{2,80}`|\*\*[^*\n]{2,60}\*\*")
_VALUE = re.compile(
    r"(?<![\w/.-])(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)*\s?%|[$€]\d+(?:\.\d+)?|\d{2,}(?:\.\d+)*|\d+\.\d+(?:\.\d+)*|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w/])"
)
_FIRST_PERSON = re.compile(
    r"(?:^|[,;:—–(]\s*|\b(?:so|and|then|but|now|since|because)\s+)(?:I|we|We|let me|Let me)\b(?!\w)"
)
_REASON = re.compile(
    r"\b(?:because|so that|so|since|instead|rather than|not|without|until|unless|otherwise|but|only|before|keeps?|should)\b|; |: |—"
)

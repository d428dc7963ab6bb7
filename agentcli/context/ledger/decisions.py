"""The assistant's decisions and findings in its own words: choices, reasons, causes and values.

They are recognised by form alone, without a model. The form is a word for a reason, a cause or a choice, beside a name
or number. The words are listed for several languages. The sentences of one decision stay together: reason, verdict and
rejected alternatives. Announcements of the next call do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.standing_rules import plain_lines, sentences
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message
from agentcli.core.record import Record, VerbatimText

_LEAST = 1.0
"""Score below which a sentence is neither a decision nor a value."""


def fold_decisions(
    start: Iterable[VerbatimText], records: Sequence[Record], keep: LedgerSettings
) -> tuple[VerbatimText, ...]:
    """Return the decisions and values after more records, oldest first; a later one replaces one about the same."""
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
    """Return at most so many, in order, dropping the weakest and of these the oldest."""
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


def score(text: str) -> float:
    """Return how much the form of a text suggests a decision or a value.

    A reason counts more than any number of values.
    """
    names, values = set(_NAME.findall(text)), set(_VALUE.findall(text))
    reason = (_CHOICE if names or values or _BARE_NAME.search(text) else 1.0) if _gives_reason(text) else 0.0
    return reason + 0.5 * min(len(names), 3) + min(len(values), 3)


def decides(text: str) -> bool:
    """Return True if a text gives a reason, a cause or a choice about something that it names."""
    return bool(_BARE_NAME.search(text) or _NAME.search(text) or _VALUE.search(text)) and _gives_reason(text)


@lru_cache(2_048)
def _gives_reason(text: str) -> bool:
    """Return True if a text has a word for a reason, a cause or a choice. The search takes long."""
    return bool(_lower_reason().search(text.lower()) if text.isascii() else _reason().search(text))


@dataclass(frozen=True, slots=True)
class _Kept:
    said: VerbatimText
    words: frozenset[str]

    def unlike(self, others: Sequence[_Kept]) -> list[_Kept]:
        """Return the others that it does not supersede."""
        # A superseded decision contains all but a quarter of its words. It therefore has at least one word of any set
        # slightly larger than a quarter.
        missing = int((1 - _SAME) * len(self.words))
        few = frozenset(sorted(self.words, key=len)[-1 - missing :])
        return [other for other in others if (few and few.isdisjoint(other.words)) or not self.supersedes(other)]

    def supersedes(self, other: _Kept) -> bool:
        """Return True if it states nearly the same as another, possibly with other values."""
        ours, theirs = len(self.words), len(other.words)
        if ours < _SAME * theirs or theirs < _SAME * ours:
            return False
        shared = len(self.words & other.words)
        return shared >= _SAME * (ours + theirs - shared)


def _stated(body: Message, keep: LedgerSettings) -> Iterator[str]:
    whole = body.text
    # Most messages only announce a call in one line. A part of a line has no word that the line lacks.
    if body.calls and not _gives_reason(" ".join(whole.split())) and len(whole.splitlines()) <= 1:
        return
    for text in _units(whole, keep.decision_characters):
        # Words beside a call announce it, unless they give a reason.
        if _SHORTEST <= len(text) <= keep.decision_characters and (
            decides(text) if body.calls else score(text) >= _LEAST
        ):
            yield text


def _units(text: str, longest: int) -> Iterator[str]:
    """Yield the texts that belong together.

    They are labelled lines one below the other, the sentences of a decision, or else each sentence.
    """
    labelled: list[str] = []
    for line in (*plain_lines(text), ""):
        said = [" ".join(sentence.split()) for sentence in sentences(line)] if line else []
        said = [sentence for sentence in said if not sentence.endswith(_NO_STATEMENT)]
        whole = " ".join(said)
        if _LABEL.match(whole) and len(" ".join((*labelled, whole))) <= longest:
            labelled.append(whole)
            continue
        yield from [" ".join(labelled)] if labelled else []
        labelled = [whole] if _LABEL.match(whole) else []
        if not labelled:
            yield from _with_neighbours(said, longest)


def _with_neighbours(said: Sequence[str], longest: int) -> Iterator[str]:
    """Yield the sentences of a line. Deciding sentences are one text, with their neighbours if they fit."""
    if len(said) < _PAIR:
        yield from said
        return
    places = [n for n, sentence in enumerate(said) if decides(sentence)]
    if not places:
        yield from [" ".join(said)] if decides(" ".join(said)) and len(" ".join(said)) <= longest else said
        return
    first, last = places[0], places[-1]
    for start, end in ((max(first - 1, 0), last + 2), (max(first - 1, 0), last + 1), (first, last + 1)):
        if len(unit := " ".join(said[start:end])) <= longest:
            yield from (*said[:start], unit, *said[end:])
            return
    yield from said


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d]{3,}", text.casefold()))


_SAME = 0.75
_PAIR = 2
"""Fewest sentences of a line with neighbours."""
_SHORTEST = 20
_EXTRA = 12
"""Characters of a bullet and of the record's number."""
_NAME = re.compile(r"`[^`\n]{2,80}`|\*\*[^*\n]{2,60}\*\*")
_VALUE = re.compile(
    r"(?<![\w/.-])(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)*\s?%|[$€]\d+(?:\.\d+)?|\d{2,}(?:\.\d+)*|\d+\.\d+(?:\.\d+)*|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w/])"
)
_BARE_NAME = re.compile(
    r"\w[._/:-]\w|_\w|[a-z][A-Z]|(?<=[^\W\d_] )[^\W\d_a-zà-ÿ]\w+|[\u3040-\u9fff\uac00-\ud7af].*[A-Za-z]{2}"
)
"""A name without marks: of code or a path, or a capital letter within a sentence."""
_CHOICE = 5.0
_NO_STATEMENT = ("?", "？", ":", "：")
_LABEL = re.compile(r"\**[^\W\d][\w ]{1,24}\**[:：]\**\s*\S")
_REASONS = (
    # English, German, Dutch, Swedish
    r"because|since|as (?:it|they|the|this|that|[A-Z])|due to|so that|root cause|caused? by|the cause|reason|instead|rather than|in favou?r of|"
    r"chose|chosen|choose|picked|opted|decided|decision|rejected|ruled out|turns? out|"
    r"weil|denn|da (?:der|die|das|es|sie|[A-ZÄÖÜ])|statt|anstatt|stattdessen|ursache|grund|wegen|entschieden|entscheidung|verworfen|gewählt|deshalb|daher|"
    r"omdat|want|aangezien|in plaats van|oorzaak|gekozen|besloten|verworpen|eftersom|därför att|i stället för|istället|orsaken|valde|beslut\w*|"
    # French, Spanish, Portuguese, Italian
    r"parce que?|car|puisque|au lieu de|plutôt que|cause|choisi\w*|décid\w+|décision|rejeté\w*|écarté\w*|raison|"
    r"porque|ya que|puesto que|en lugar de|en vez de|causa|eleg\w+|decid\w+|decisión|descart\w+|rechaz\w+|"
    r"pois|já que|em vez de|escolh\w+|decisão|rejeit\w+|perché|poiché|invece di|anziché|scelt\w+|deciso|decisione|scartat\w+|"
    # Polish, Turkish, Russian
    r"ponieważ|bo|gdyż|zamiast|przyczyn\w+|wybra\w+|zdecydowa\w+|odrzuc\w+|çünkü|yerine|nedeni?|seçti\w*|karar\w*|"
    r"потому|так как|поскольку|вместо|причин\w+|выбра\w+|реш(?:ил|ен)\w*|отклон\w+|отверг\w+"
)
_IN_UNSPACED = "因为|因為|由于|由於|而不是|而非|原因|选择|選擇|选用|選用|决定|決定|改用|放弃|放棄|ため|ので|代わりに|選ん|選択|採用|却下|때문|대신|원인|선택|결정|(?<=[가-힣])므로"
"""Such words in Chinese, Japanese and Korean."""


@cache
def _reason() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_REASONS})\b|{_IN_UNSPACED}", re.IGNORECASE)


@cache
def _lower_reason() -> re.Pattern[str]:
    """Return the same for an ASCII text in lower case.

    Most words differ from all of them at the first letter. Where the case counts, that is seen at once.
    """
    return re.compile(rf"\b(?:{_REASONS.lower()})\b")

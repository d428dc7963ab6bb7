"""Verification of a model's summary against its sources: unsupported sentences, and sentences that pose as another speaker, are struck."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from agentcli.context.ledger.standing_rules import sentences
from agentcli.context.settings import SnapshotSettings
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.imperatives import offence
from agentcli.context.snapshot.language import language, may_be
from agentcli.core.dataclass import dataclass
from agentcli.core.record import VerbatimText


@dataclass(frozen=True, slots=True)
class Struck:
    """A sentence struck from a summary, with the reason."""

    sentence: str
    why: str


_DEFAULT = SnapshotSettings()


class Evidence:
    """Sources that a summary may use: the summarised part, the ledger, and the verified snapshot before.

    `longest` is the length in characters of the longest acceptable sentence, `user_texts` the user's own words: all that a
    summary may quote of the user's will.
    """

    def __init__(
        self,
        texts: Iterable[str],
        longest: int = _DEFAULT.sentence_characters,
        user_texts: Sequence[VerbatimText] = (),
    ) -> None:
        self.longest = longest
        self.user_texts = tuple(user_texts)
        self._texts = tuple(texts)
        self._whole = ""
        self._stems: frozenset[str] = frozenset()
        # Most texts and words repeat, and neither a word nor a number contains a blank.
        each = " ".join({piece for text in set(self._texts) for piece in text.split()})
        self._words = frozenset(_WORD.findall(each.casefold()))
        self._numbers = frozenset(number.replace(",", "") for number in _NUMBER.findall(each))

    def supports(self, claim: str) -> bool:
        """Return True if a path, command, number, identifier or quotation occurs as a whole, whatever its case and spacing."""
        claim = " ".join(claim.split()).strip("`")
        if not claim:
            return True
        if _NUMBER.fullmatch(claim):
            return claim.replace(",", "") in self._numbers
        folded = claim.casefold()
        return folded in self._words if _WORD.fullmatch(folded) else self._stands_alone(folded)

    def quotation(self, span: str) -> str:
        """Return the user's own sentences around a quotation, with the turn, or an empty text if the user did not say so byte for byte."""
        if len(span.split()) < 2 and len(span) < _SHORTEST_QUOTATION:
            return ""
        for words in self.user_texts:
            line = " ".join(words.text.split())
            start = line.find(span)
            if start >= 0:
                return _quoted(line, start, start + len(span), words.turn)
        return ""

    def is_about(self, sentence: str) -> bool:
        """Return False if hardly any word of a sentence occurs: its topic, or its language, never came up."""
        words = [word[:_STEM] for word in _PROSE.findall(sentence.casefold())]
        if len(words) < _FEWEST_WORDS or len(self._words) < _VOCABULARY:
            return True
        if not self._stems:
            self._stems = frozenset(word[:_STEM] for word in self._words)
        return sum(word in self._stems for word in words) >= _KNOWN * len(words)

    def _stands_alone(self, claim: str) -> bool:
        """Return True if the claim occurs without being a piece of a longer word."""
        text = self._folded()
        start = text.find(claim)
        while start >= 0:
            end = start + len(claim)
            before = text[start - 1 : start] if _is_wordy(claim[:1]) else ""
            after = text[end : end + 1] if _is_wordy(claim[-1:]) else ""
            if not _is_wordy(before) and not _is_wordy(after):
                return True
            start = text.find(claim, start + 1)
        return False

    def _folded(self) -> str:
        """Return the texts in a row, case-folded and with single blanks, made on first use."""
        if not self._whole:
            folded = {text: " ".join(text.split()).casefold() for text in set(self._texts)}
            self._whole = " ".join(filter(None, (folded[text] for text in self._texts)))
        return self._whole


def verified(snapshot: Snapshot, evidence: Evidence) -> tuple[Snapshot, tuple[Struck, ...]]:
    """Return the snapshot without the sentences that the evidence does not support, and the struck sentences."""
    struck: list[Struck] = []

    def sift(section: Iterable[str], step: bool = False) -> tuple[str, ...]:
        return tuple(item for item in (sifted(item, evidence, struck, step=step) for item in section) if item)

    checked = replace(
        snapshot,
        goal=sifted(snapshot.goal, evidence, struck),
        knowledge=sift(snapshot.knowledge),
        files=sift(snapshot.files),
        actions=sift(snapshot.actions),
        plan=sift(snapshot.plan, step=True),
    )
    return checked, tuple(struck)


def verified_text(summary: str, evidence: Evidence) -> tuple[str, tuple[Struck, ...]]:
    """Return a summary in free form without unsupported sentences, and the struck ones; headings and blank lines stay."""
    struck: list[Struck] = []
    lines = []
    for line in summary.splitlines():
        indent, words = _INDENT.match(line).groups()  # type: ignore[union-attr]
        kept = sifted(words, evidence, struck)
        if kept or not words.strip():
            lines.append(indent + kept if words.strip() else "")
    return "\n".join(lines).strip(), tuple(struck)


def speaks_another_language(summary: str, dialogue: Iterable[str]) -> str:
    """Return the language of a summary if the conversation does not use it, else an empty text."""
    found = language(summary)
    if not found:
        return ""
    others, unsure = False, []
    for text in dialogue:
        spoken = language(text)
        if spoken == found:
            return ""
        if spoken:
            others = True
        else:
            unsure.append(text)
    return "" if not others or may_be("\n".join(unsure), found) else found


def unsupported(sentence: str, evidence: Evidence) -> str:
    """Return the first claim of a sentence that the evidence does not contain, or an empty text."""
    return next((claim for claim in claims(sentence) if not evidence.supports(claim)), "")


def claims(sentence: str) -> Iterator[str]:
    """Yield each checkable claim of a sentence once: code, quotations, addresses, paths, options, identifiers, numbers."""
    rest = sentence
    # In a text without such scripts every word character is a letter, and that pattern compiles in a tenth of the time.
    for pattern in _claim_patterns(_LETTER if max(sentence, default="") >= _UNSPACED else r"\w"):
        found = list(pattern.finditer(rest))
        yield from (text for text in (_claimed(match) for match in found) if text.casefold() not in _PLAIN_WORDS)
        rest = pattern.sub(" ", rest)


def sifted(item: str, evidence: Evidence, struck: list[Struck], *, step: bool = False) -> str:
    """Return the sentences of an item that the evidence supports, in acceptable form; add the others to `struck`.

    A sentence about the user's will becomes the user's own sentence, whatever the summary makes of it. `step`: the item is a
    step of the plan.
    """
    kept = []
    for sentence in sentences(item):
        text, why = judged(sentence, evidence, step)
        if why:
            struck.append(Struck(sentence, why))
        else:
            kept.append(text)
    return " ".join(dict.fromkeys(kept))


def judged(sentence: str, evidence: Evidence, step: bool = False) -> tuple[str, str]:
    """Return a sentence in acceptable form and an empty reason, or an empty text and the reason to strike it."""
    if len(sentence) > evidence.longest:
        return "", f"longer than {evidence.longest:,} characters"
    if _POSES.search(sentence):
        return "", "poses as somebody else"
    text = _STEP_MARK.sub("", sentence)
    spans = [_claimed(match) for match in _SPOKEN.finditer(text)]
    if quoted := next((quoted for quoted in map(evidence.quotation, (text.strip(), *spans)) if quoted), ""):
        if offence(text, step=step):
            return quoted, ""
    elif wrong := offence(_SPOKEN.sub(" ", text), step=step):
        return "", f"{wrong}, and only the user's own words do that"
    elif any(offence(span) == "speaks for the user" for span in spans):
        return "", "quotes a will that is not the user's"
    if claim := unsupported(text, evidence):
        return "", f"{claim!r} does not occur"
    return (sentence, "") if evidence.is_about(text) else ("", "nothing in the conversation is about that")


def _quoted(line: str, start: int, end: int, turn: int) -> str:
    """Return as a report the whole sentences around the words from `start` to `end` of a line: half a sentence may say the opposite."""
    place, whole = 0, []
    for sentence in sentences(line):
        place = line.index(sentence, place)
        if place < end and start < place + len(sentence):
            whole.append(sentence)
        place += len(sentence)
    return f'The user said (turn {turn}): "{" ".join(whole)}"'


def _claimed(match: re.Match[str]) -> str:
    text = next((group for group in match.groups() if group), match[0])
    return text.strip().rstrip(".,;:") if not match.groups() else text.strip()


def _is_wordy(character: str) -> bool:
    return bool(_WORD.fullmatch(character))


# In scripts without blanks between words, a word follows a name directly: such letters end an identifier.
_UNSPACED = "\u2e80"
"""First character of these scripts."""
_LETTER = rf"[^\W{_UNSPACED}-\U0010ffff]"
_WORD = re.compile(rf"{_LETTER}+")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*")
_INDENT = re.compile(r"^(\s*(?:[-*•]|\d+[.)]|#+)?\s*)(.*)$")
_PROSE = re.compile(rf"[^\W\d_{_UNSPACED}-\U0010ffff]{{4,}}")
_STEM, _FEWEST_WORDS, _VOCABULARY, _KNOWN = 5, 4, 400, 0.25
_SHORTEST_QUOTATION = 6
_STEP_MARK = re.compile(r"\[(?:DONE|IN PROGRESS|TODO)\]")
_CODE = re.compile(r"`+([^`]+)`+")
_QUOTATION = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|(?<!\w)'([^']{2,})'(?!\w)|(?<!\w)‘([^’]{2,})’(?!\w)"
)
_SPOKEN = re.compile(f"{_CODE.pattern}|{_QUOTATION.pattern}")


@cache
def _claim_patterns(letter: str) -> tuple[re.Pattern[str], ...]:
    """Return the forms of a claim; `letter` is the character class of an identifier's letters."""
    start, end = rf"(?<!{letter})", rf"(?!{letter})"
    return (
        _CODE,
        re.compile(r"\bhttps?://[^\s)>\]]+"),
        _QUOTATION,
        # paths
        re.compile(
            rf"(?<![/~.]){start}(?:~|\.{{1,2}})?/?(?:(?:{letter}|[.@+-])+/)+(?:{letter}|[.@+*-])*|(?<!/){start}/(?:{letter}|[.-]){{2,}}"
        ),
        re.compile(rf"(?<!-){start}--?[A-Za-z](?:{letter}|-)*"),  # options
        # file names, dotted names, suffixes
        re.compile(
            rf"{start}(?:{letter}|-)*{letter}(?:\.[A-Za-z_]{letter}*)+{end}|{start}{letter}+(?:::{letter}+)+{end}|\.[a-z]{{2,5}}{end}"
        ),
        re.compile(rf"{start}[A-Za-z]{letter}*\(\)"),
        re.compile(rf"{start}{letter}*[A-Za-z0-9]_{letter}+{end}|{start}_{letter}+{end}"),  # snake_case
        re.compile(
            rf"{start}[A-Za-z]*[a-z][A-Z]{letter}*{end}|{start}[A-Z]{{2,}}[a-z]+[A-Z]{letter}*{end}"
        ),  # camelCase
        re.compile(rf"{start}(?={letter}*\d)(?={letter}*[A-Za-z])[A-Za-z0-9]+{end}"),
        re.compile(r"#\d+\b"),
        _NUMBER,
    )


_PLAIN_WORDS = frozenset(
    [
        "and/or",
        "either/or",
        "he/she",
        "his/her",
        "read/write",
        "input/output",
        "client/server",
        "yes/no",
        "on/off",
        "true/false",
        "pass/fail",
        "i/o",
        "n/a",
        "w/o",
        "e.g",
        "i.e",
        "a.m",
        "p.m",
        "1st",
        "2nd",
        "3rd",
        "4th",
        "5th",
    ]
)
_POSES = re.compile(
    r"^\W*(?:system|user|human|assistant|developer|operator)\s*(?:message|prompt|instruction)?s?\s*[:：]"
    r"|</?\s*(?:system|user|human|assistant|system-reminder|user-prompt-submit-hook|pre-tool-use-hook|user_message|pinned|im_start|im_end|"
    r"instructions?|tool_result|function_results)\b"
    r"|<\||\[/?INST\]|^\W*(?:\\n)*(?:Human|Assistant):",
    re.IGNORECASE,
)

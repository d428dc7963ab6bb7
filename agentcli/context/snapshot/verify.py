"""Verification of a model's summary against its sources, sentence by sentence.

A claim's kind decides how strictly it is checked. A permission, a person's wish and a rule need a record. It must
contain most of the sentence, with all names, paths and numbers. A wish of the user is stated only in the user's own
words. A sentence that is closest to their words becomes a quotation of them.

A permission without a record is struck. A success without a record is listed as unverified. Descriptions, plans,
findings and reasons stay; names in them that no record contains are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.standing_rules import sentences
from agentcli.context.snapshot.anchors import Anchor, Anchors, Source
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.kinds import Kind, kind_of
from agentcli.context.snapshot.language import language, may_be
from agentcli.context.snapshot.transcript import TAG
from agentcli.core.dataclass import dataclass
from agentcli.core.record import VerbatimText

MARK = "[no record "
"""Beginning of the mark after a sentence that the records support only in part; a marked sentence proves nothing later.
"""
CONTRADICTED = "[a record says otherwise]"
"""Mark after a line that a record contradicts, in a summary in its own form."""
POSES = "poses as somebody else"
"""Reason for removing a sentence that speaks as the user or the system."""


@dataclass(frozen=True, slots=True)
class Struck:
    """A sentence struck from a summary, with the reason."""

    sentence: str
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence in acceptable form, or the reason why it does not stand."""

    text: str = ""
    why: str = ""
    doubtful: bool = False
    """True if it is then listed as unverified."""
    seq: int = 0
    """The record that shows it; 0 if unknown."""
    words: str = ""
    """The quotation alone, if the user's words replaced the sentence."""


@dataclass(slots=True)
class Sifted:
    """Result of checking a summary's sentences: the removed ones with the reasons, and the ones without a record."""

    struck: list[Struck] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)

    def note(self, sentence: str, judged: Judged) -> None:
        """Note a sentence if it does not stand."""
        if judged.why:
            self.struck.append(Struck(sentence, judged.why))
        if judged.doubtful:
            self.doubtful.append(sentence)


_DEFAULT = SnapshotSettings()


class Evidence:
    """Sources that a summary may use: the summarised part, the ledger, and the verified snapshot before.

    `longest` is the length in characters of the longest acceptable sentence. `user_texts` are the user's own words; a
    summary may quote the user's will only from them. A plain text counts as the agent's.
    """

    def __init__(
        self,
        texts: Iterable[str | Source],
        longest: int = _DEFAULT.sentence_characters,
        user_texts: Sequence[VerbatimText] = (),
    ) -> None:
        self.longest = longest
        self.user_texts = tuple(user_texts)
        self._sources = [Source(text) if isinstance(text, str) else text for text in texts]

    def supports(self, claim: str) -> bool:
        """Return True if a path, command, number, identifier or quotation occurs whole, in any case and spacing."""
        claim = " ".join(claim.split()).strip("`")
        if not claim:
            return True
        if _NUMBER.fullmatch(claim):
            return claim.replace(",", "") in self._numbers
        folded = claim.casefold()
        return folded in self._words if _WORD.fullmatch(folded) else self._occurs(folded)

    def quotation(self, span: str) -> VerbatimText | None:
        """Return the user's own complete sentences around a quotation, or None if it does not match the user's words
        exactly.
        """
        if len(span.split()) < 2 and len(span) < _SHORTEST_QUOTATION:
            return None
        for words in self.user_texts:
            line = " ".join(words.text.split())
            start = line.find(span)
            if start >= 0:
                return replace(words, text=_quoted(line, start, start + len(span)))
        return None

    def anchors(self, sentence: str, cited: Iterable[int] = ()) -> tuple[Anchor | None, Anchor | None]:
        """Return a sentence's best anchors in the user's words and elsewhere; `cited` are the steps it names as proof."""
        return self._index.of(sentence, tuple(claims(sentence)), cited)

    def knows(self, claim: str, *, is_code: bool) -> bool:
        """Return True if a name, path or number occurs.

        For an expression or a quotation, all its words and numbers must occur.
        """
        bare = _ENDING.sub("", claim.strip("*`")) or claim
        if self.supports(claim) or self.supports(bare):
            return True
        if _IS_PATH.search(bare) or _NUMBER.fullmatch(bare) or bare.startswith(("http://", "https://")):
            return False
        if is_code and _IS_NAME.fullmatch(bare):
            return False
        words = _WORD.findall(bare.casefold())
        return len(words) > 1 and all(word in self._words or word in self._numbers for word in words)

    @cached_property
    def _index(self) -> Anchors:
        said = (Source(words.text, words.seq, words.seq, "user", turn=words.turn) for words in self.user_texts)
        return Anchors((*said, *(source for source in self._sources if source.speaker != "user")))

    @cached_property
    def _pieces(self) -> str:
        """All texts divided at blanks, each piece once. Most repeat, and neither a word nor a number contains a blank."""
        said = (source.text for source in self._sources if source.speaker == "user")
        return " ".join({*self._index.pieces, *(piece for text in said for piece in text.split())})

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._pieces.casefold()))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(number.replace(",", "") for number in _NUMBER.findall(self._pieces))

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        """Each text once, with its case-folded form."""
        return {text: text.casefold() for text in dict.fromkeys(source.text for source in self._sources)}

    @cached_property
    def _texts(self) -> str:
        """Each text once, case-folded, with a character between two that no claim contains."""
        return "\n\0\n".join(self._folded.values())

    @cached_property
    def _each(self) -> str:
        """The same with single spaces."""
        return " ".join(self._texts.split())

    @cached_property
    def _whole(self) -> str:
        """The texts in order, case-folded and with single spaces."""
        single = {text: " ".join(folded.split()) for text, folded in self._folded.items()}
        return " ".join(filter(None, [single[source.text] for source in self._sources]))

    def _occurs(self, claim: str) -> bool:
        """Return True if the claim occurs as a whole, not as part of a longer word. Its words may be of two texts."""
        if " " not in claim:
            return _stands_alone(claim, self._texts)
        return _stands_alone(claim, self._each) or _stands_alone(claim, self._whole)


def verified(snapshot: Snapshot, evidence: Evidence, *, in_place: bool = False) -> tuple[Snapshot, tuple[Struck, ...]]:
    """Return the snapshot with the sentences that the evidence supports, and the sentences that it does not.

    `in_place`: as in `judged`.
    """
    result = Sifted()

    def sift(section: Iterable[str], step: bool = False) -> tuple[str, ...]:
        kept = (sifted(item, evidence, result, step=step, in_place=in_place) for item in section)
        return tuple(item for item in kept if item)

    checked = replace(
        snapshot,
        goal=verified_goal(snapshot.goal, evidence, result),
        knowledge=sift(snapshot.knowledge),
        files=sift(snapshot.files),
        actions=sift(snapshot.actions),
        plan=sift(snapshot.plan, step=True),
    )
    return replace(checked, unverified=tuple(dict.fromkeys(result.doubtful))), tuple(result.struck)


def verified_goal(goal: str, evidence: Evidence, result: Sifted) -> str:
    """Return the supported part of a goal, in the user's own words if it is about what they want."""
    kept = []
    for sentence in sentences(goal):
        # The time of the search for names grows with the square of a length without spaces.
        by_user, _ = evidence.anchors(sentence[: evidence.longest])
        if by_user and by_user.share >= _WILL_SHARE:
            kept.append(by_user.passage)
            continue
        found = judged(sentence, evidence)
        if found.why:
            result.struck.append(Struck(sentence, found.why))
        else:
            kept.append(found.words or found.text)
    return " ".join(dict.fromkeys(kept))


def verified_text(summary: str, evidence: Evidence) -> tuple[str, tuple[str, ...], tuple[Struck, ...]]:
    """Return a summary in its form, with marks where records lack something; then unverified and refused sentences."""
    result = Sifted()
    lines = []
    for line in summary.splitlines():
        indent, words = _INDENT.match(line).groups()  # type: ignore[union-attr]
        kept = words if _HEADING.match(line) else sifted(words, evidence, result, in_place=True)
        if kept or not words.strip():
            lines.append(indent + kept if words.strip() else "")
    return "\n".join(lines).strip(), tuple(dict.fromkeys(result.doubtful)), tuple(result.struck)


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
    # In a text without such scripts, every word character is a letter. That pattern compiles in a tenth of the time.
    for pattern in _claim_patterns(_LETTER if max(sentence, default="") >= _UNSPACED else r"\w"):
        found = list(pattern.finditer(rest))
        yield from (text for text in (_claimed(match) for match in found) if text.casefold() not in _PLAIN_WORDS)
        rest = pattern.sub(" ", rest)


def sifted(item: str, evidence: Evidence, result: Sifted, *, step: bool = False, in_place: bool = False) -> str:
    """Return the acceptable sentences of an item; note the refused ones in `result`.

    `step`: the item is a step of the plan, which need not have happened. `in_place`: as in `judged`.
    """
    kept = []
    for sentence in sentences(item):
        found = judged(sentence, evidence, step=step, in_place=in_place)
        result.note(sentence, found)
        kept += [found.text] if found.text else []
    return " ".join(dict.fromkeys(kept))


def judged(
    sentence: str, evidence: Evidence, *, step: bool = False, cited: Iterable[int] = (), in_place: bool = False
) -> Judged:
    """Decide whether a sentence is kept, and in which form; `cited` are the steps that it names as its proof.

    `in_place`: a success without a record is marked, not taken out.
    """
    cited = tuple(cited)
    if len(sentence) > evidence.longest:
        return Judged(why=f"longer than {evidence.longest:,} characters")
    if _POSES.search(sentence):
        return Judged(why=POSES)
    if _COPIES.search(sentence):
        return Judged(why="copies the transcript")
    text = _STEP_MARK.sub("", sentence).strip()
    if not _LETTERS.search(text):
        return Judged()
    kind = kind_of(text)
    if kind in ("description", "success"):
        return _described(sentence, text, kind, evidence, cited, in_place)
    quoted = next(filter(None, map(evidence.quotation, (text, *_spoken(text)))), None)
    if claim := "" if quoted else unsupported(text, evidence):
        return Judged(why=f"{claim!r} does not occur")
    by_user, elsewhere = evidence.anchors(text, cited)
    least = _LEAVE_SHARE if kind == "permission" else _STEP_SHARE if step else _SHARE
    if elsewhere and _bears(elsewhere, least) and elsewhere.share >= (by_user.share if by_user else 0):
        return Judged(sentence, seq=elsewhere.source.seq)
    if quoted is None and by_user and by_user.share >= _WILL_SHARE:
        quoted = VerbatimText(by_user.source.seq, by_user.source.turn, by_user.passage)
    if quoted:
        said = f'The user said (turn {quoted.turn}): "{quoted.text}"'
        return Judged(said, seq=quoted.seq, words=quoted.text)
    # A permission that no record shows must not come back under any heading.
    return Judged(why="no record shows it", doubtful=kind == "rule" and _touches(elsewhere, by_user))


def _described(
    sentence: str, text: str, kind: Kind, evidence: Evidence, cited: Sequence[int], in_place: bool
) -> Judged:
    """Judge a sentence that neither permits nor requires anything.

    It stays, but names that no record contains, or that no step contains together, are marked. A success stays if a
    record shows it or its names.
    """
    named = tuple(dict.fromkeys(claims(text)))
    unknown = tuple(claim for claim in named if not evidence.knows(claim, is_code=f"`{claim}`" in text))
    by_user, elsewhere = evidence.anchors(text, cited)
    seq = elsewhere.source.seq if elsewhere and elsewhere.share >= _TOUCHED else 0
    if kind == "success" and (unknown or not elsewhere or not (elsewhere.named or _bears(elsewhere, _STEP_SHARE))):
        if in_place:
            return Judged(f"{sentence} {MARK}shows this]", why="no record shows it", seq=seq)
        return Judged(why="no record shows it", doubtful=_touches(elsewhere, by_user))
    if unknown:
        return Judged(f"{sentence} {MARK}names {', '.join(unknown[:_MARKED])}]", seq=seq)
    missing = elsewhere.missing if elsewhere else named
    if cited and len(named) > 1 and missing:
        return Judged(f"{sentence} {MARK}cited names {', '.join(missing[:_MARKED])}]", seq=seq)
    return Judged(sentence, seq=seq)


def _touches(elsewhere: Anchor | None, by_user: Anchor | None) -> bool:
    """Return True if a sentence is closer to a record than to the user's words, and shares words with it."""
    return elsewhere is not None and elsewhere.share >= max(_TOUCHED, by_user.share if by_user else 0)


def _bears(anchor: Anchor, least: float) -> bool:
    """Return True if an anchor outside the user's words is enough; a tool's output must contain a name."""
    enough = anchor.share >= least and anchor.weight >= _LEAST_WEIGHT and anchor.complete
    return enough and (anchor.named or anchor.source.speaker != "tool")


def _spoken(text: str) -> Iterator[str]:
    return (_claimed(match) for match in _QUOTATION.finditer(text))


def _quoted(line: str, start: int, end: int) -> str:
    """Return the complete sentences around the words from `start` to `end` of a line.

    Half a sentence can mean the opposite.
    """
    place, whole = 0, []
    for sentence in sentences(line):
        place = line.index(sentence, place)
        if place < end and start < place + len(sentence):
            whole.append(sentence)
        place += len(sentence)
    return " ".join(whole)


def _claimed(match: re.Match[str]) -> str:
    text = next((group for group in match.groups() if group), match[0])
    return text.strip().rstrip(".,;:") if not match.groups() else text.strip()


def _stands_alone(claim: str, text: str) -> bool:
    """Return True if the claim occurs in a text and no word goes on before or after it."""
    start = text.find(claim)
    while start >= 0:
        end = start + len(claim)
        before = text[start - 1 : start] if _is_wordy(claim[:1]) else ""
        after = text[end : end + 1] if _is_wordy(claim[-1:]) else ""
        if not _is_wordy(before) and not _is_wordy(after):
            return True
        start = text.find(claim, start + 1)
    return False


def _is_wordy(character: str) -> bool:
    return bool(_WORD.fullmatch(character))


# In scripts without spaces, a word follows a name directly: such letters end an identifier.
_UNSPACED = "\u2e80"
"""First character of these scripts."""
_LETTER = rf"[^\W{_UNSPACED}-\U0010ffff]"
_WORD = re.compile(rf"{_LETTER}+")
_LETTERS = re.compile(r"[^\W_]")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*")
_INDENT = re.compile(r"^(\s*(?:[-*•]|\d+[.)]|#+)?\s*)(.*)$")
_HEADING = re.compile(r"\s*#+\s.{1,24}$")
_SHORTEST_QUOTATION = 6
_MARKED = 5
"""Maximum number of names in a mark."""
_ENDING = re.compile(r"\([^()]*\)\Z")
"""The brackets of a call."""
_IS_NAME = re.compile(r"[\w./:@#-]+")
_IS_PATH = re.compile(r"\S*\w\.[A-Za-z]\w{0,4}\Z|\A[~/]")
_SHARE, _STEP_SHARE, _LEAVE_SHARE, _WILL_SHARE, _TOUCHED = 0.6, 0.4, 0.8, 0.45, 0.25
"""Share of a sentence that one passage must contain.

It lets the sentence stand, be a step of the plan or a success, a permission, a quotation, or unverified. In a long session, some
passage contains most words of any sentence. So a permission needs a passage that contains nearly all.
"""
_LEAST_WEIGHT = 1.5
"""Minimum weight of the common words: below it, a passage proves nothing."""
_STEP_MARK = re.compile(r"\[(?:DONE|IN PROGRESS|TODO)\]")
_CODE = re.compile(r"`+([^`]+)`+")
_QUOTATION = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|(?<!\w)'([^']{2,})'(?!\w)|(?<!\w)‘([^’]{2,})’(?!\w)"
)


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
_COPIES = re.compile(rf"</?{TAG}\b|\[turn \d+\] (?:USER|ASSISTANT|TOOLS)\b|^\W*\[reminder\]")
"""Marks that only the transcript for the summariser contains: a sentence that copies one proves nothing."""
_POSES = re.compile(
    r"^\W*(?:system|user|human|assistant|developer|operator)\s*(?:message|prompt|instruction)?s?\s*[:：]"
    r"|</?\s*(?:system|user|human|assistant|system-reminder|user-prompt-submit-hook|pre-tool-use-hook|user_message|pinned|im_start|im_end|"
    r"instructions?|tool_result|function_results)\b"
    r"|<\||\[/?INST\]|^\W*(?:\\n)*(?:Human|Assistant):",
    re.IGNORECASE,
)
